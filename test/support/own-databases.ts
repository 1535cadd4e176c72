import { afterAll, beforeAll } from 'vitest';
import { newSchemas } from '../../src/store/fixtures/temp-database.ts';
import { useDatabases } from './test-database.ts';

/** Created before the tests of a file, because the constructor of a home cannot wait. */
const HOMES_OF_A_FILE = 60;

beforeAll(async () => useDatabases(await newSchemas(HOMES_OF_A_FILE)));
afterAll(() => useDatabases(null));
