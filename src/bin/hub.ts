/** Enables the compile cache, which must happen before the code it is for is loaded. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { homeFolder } from '../link/home.ts';

enableCompileCache(join(homeFolder(process.env), 'cache'));
require('./hub-main.cjs');
