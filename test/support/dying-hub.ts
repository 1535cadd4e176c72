/** A hub that ends itself with SIGKILL at one checkpoint: `dying-hub.ts NAME [NTH]`, on the home of its environment. */
import { readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { runHub } from '../../src/app.ts';
import { homeFolder } from '../../src/link/home.ts';

const root = join(import.meta.dirname, '..', '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const wanted = process.argv[2];
let left = Number(process.argv[3] ?? 1);

const hub = await runHub({
  home: homeFolder(process.env),
  env: process.env,
  version,
  programs: join(root, 'dist'),
  checkpoint(name) {
    if (name === wanted && --left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
// The process will be killed, so write the compile cache now.
flushCompileCache();
process.stdout.write(hub ? 'ready\n' : 'taken\n');
if (!hub) process.exit(1);
