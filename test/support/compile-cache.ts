import { join } from 'node:path';

/** Where Node keeps what it has compiled: tests start the same programs thousands of times, each in a home that has seen none. */
export const COMPILE_CACHE = join(
  import.meta.dirname,
  '..',
  '..',
  'node_modules',
  '.cache',
  'squad-compiled',
);

/** Compiled code of the hub, which a hub keeps in the cache of its home. */
export const HUB_CODE = join(COMPILE_CACHE, 'hub.code');
