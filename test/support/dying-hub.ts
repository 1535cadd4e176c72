/**
 * A hub that ends itself with SIGKILL at one checkpoint: `dying-hub.ts NAME [NTH]`, on the home of its environment.
 * `line:half` is where a line for an agent is stored and half of it is written.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { runHub } from '../../src/app.ts';
import { homeFolder } from '../../src/link/home.ts';

const root = join(import.meta.dirname, '..', '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const isHalf = process.argv[2] === 'line:half';
const wanted = isHalf ? 'line:stored' : process.argv[2];
let left = Number(process.argv[3] ?? 1);

const hub = await runHub({
  home: homeFolder(process.env),
  env: process.env,
  version,
  programs: join(root, 'dist'),
  checkpoint(name) {
    if (name !== wanted || --left > 0) return;
    if (isHalf) writeHalf();
    process.kill(process.pid, 'SIGKILL');
  },
});
/** Writes the first half of the line that was stored last. */
function writeHalf(): void {
  const home = homeFolder(process.env);
  const newest = 'select * from sent_lines order by at desc, "offset" desc limit 1';
  const database = new BetterSqlite3(join(home, 'squad.db'), { readonly: true });
  const row = database.prepare(newest).get() as {
    run_id: string;
    turn: number;
    offset: number;
    line: string;
  };
  database.close();
  const bytes = Buffer.from(row.line);
  const file = openSync(join(home, 'runs', row.run_id, `turn-${row.turn}`, 'input'), 'r+');
  writeSync(file, bytes, 0, Math.ceil(bytes.length / 2), row.offset);
  closeSync(file);
}

// The process will be killed, so write the compile cache now.
flushCompileCache();
process.stdout.write(hub ? 'ready\n' : 'taken\n');
if (!hub) process.exit(1);
