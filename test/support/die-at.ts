import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { query } from '../../src/store/fixtures/temp-database.ts';
import type { TestSquad } from './squad.ts';
import { databaseOf } from './stored.ts';

/** A hub that is killed at this checkpoint when it is reached for the `nth` time, on the home of this squad. */
export async function dyingHub(
  squad: TestSquad,
  point: string,
  nth = 1,
): Promise<{ died: Promise<string | null> }> {
  const program = join(import.meta.dirname, 'dying-hub.ts');
  const child: ChildProcess = spawn(process.execPath, [program, point, String(nth)], {
    cwd: '/',
    env: squad.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const died = new Promise<string | null>(settle => child.once('exit', (_, signal) => settle(signal)));
  await new Promise(ready => child.stdout!.once('data', ready));
  return { died };
}

/** Intents in the database that were neither finished nor undone. */
export const intentsOf = (squad: TestSquad): Promise<unknown[]> =>
  query(databaseOf(squad), 'select * from intents');
