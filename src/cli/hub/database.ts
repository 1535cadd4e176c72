import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ErrorShape, SquadError } from '../../schema/error.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';

interface Migrated {
  database: string;
  applied: string[];
  migrations: number;
}

interface Moved {
  from: string;
  to: string;
  rows: Record<string, number>;
}

export async function migrateCommand(context: CliContext): Promise<number> {
  const done = await perform<Migrated>('migrate');
  printResult(context, done, () => [
    done.applied.length === 0
      ? `${done.database} is up to date (${done.migrations} migrations).`
      : `${done.database}: applied ${done.applied.join(', ')}.`,
  ]);
  return EXIT.done;
}

export async function moveCommand(context: CliContext): Promise<number> {
  const done = await perform<Moved>('move');
  const { runs = 0, events = 0 } = done.rows;
  const total = Object.values(done.rows).reduce((sum, count) => sum + count, 0);
  printResult(context, done, () => [
    `Moved ${total} rows (${runs} runs, ${events} events) from ${done.from} to ${done.to}.`,
    'The hub uses PostgreSQL wherever SQUAD_DATABASE_URL is set. The SQLite file was not changed; keep it as a backup.',
  ]);
  return EXIT.done;
}

/** Only the hub and this program open databases, so that other commands do not load the drivers. */
async function perform<T>(action: 'migrate' | 'move'): Promise<T> {
  const program = join(__dirname, 'database.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, [program, action], {
    maxBuffer: 1024 * 1024,
  });
  const answer = JSON.parse(stdout) as { ok: T } | { error: ErrorShape };
  if ('ok' in answer) return answer.ok;
  const { code, message, ...options } = answer.error;
  throw new SquadError(code, message, options);
}
