/** A hub that ends itself with SIGKILL at one checkpoint: `dying-hub.ts NAME [COUNT]`, on the home of its environment. */
import { join } from 'node:path';
import { startHub } from '../../src/app.ts';
import { homeFolder } from '../../src/link/home.ts';
import { version } from '../../src/link/program.ts';

const [wanted = '', count = '1'] = process.argv.slice(2);
let left = Number(count);

const hub = await startHub({
  home: homeFolder(process.env),
  env: process.env,
  version,
  programs: join(import.meta.dirname, '..', '..', 'dist'),
  checkpoint(name) {
    if (name === wanted && --left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write(hub ? 'ready\n' : 'taken\n');
if (!hub) process.exit(1);
