import { join } from 'node:path';
import { homeFolder } from '../link/home.ts';

/** Where prices of the user's own go. */
export const pricesFile = (): string => join(homeFolder(process.env), 'prices.json');
