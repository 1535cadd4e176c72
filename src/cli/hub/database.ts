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
  const done = await askDatabase<Migrated>('migrate');
  printResult(context, done, () => [
    done.applied.length === 0
      ? `${done.database} is up to date (${done.migrations} migrations).`
      : `${done.database}: applied ${done.applied.join(', ')}.`,
  ]);
  return EXIT.done;
}

export async function moveCommand(context: CliContext): Promise<number> {
  const done = await askDatabase<Moved>('move');
  const { runs = 0, events = 0 } = done.rows;
  const total = Object.values(done.rows).reduce((sum, count) => sum + count, 0);
  printResult(context, done, () => [
    `Moved ${total} rows (${runs} runs, ${events} events) from ${done.from} to ${done.to}.`,
    'The hub uses PostgreSQL wherever SQUAD_DATABASE_URL is set. The SQLite file was not changed; keep it as a backup.',
  ]);
  return EXIT.done;
}

/** Prints the statements, for whoever manages the database, or carries them out. */
export async function grantCommand(
  user: string,
  { apply = false }: { apply?: boolean },
  context: CliContext,
): Promise<number> {
  const done = await askDatabase<Granted>('grant', { user, apply });
  return printResult(context, { ...done, applied: apply }, () =>
    apply
      ? [`${user} may run hubs on ${done.database}, and may not change its tables.`]
      : done.statements.map(statement => `${statement};`),
  );
}

interface Granted {
  database: string;
  statements: string[];
}

export interface AskOptions {
  /** URL of the database (default: that of the home). */
  url?: string;
  [option: string]: unknown;
}

/** Only the hub and this program open databases, so that other commands do not load the drivers. */
export async function askDatabase<T>(
  action: 'migrate' | 'move' | 'grant' | 'inspect' | 'join' | 'leave' | 'schema',
  { url, ...options }: AskOptions = {},
): Promise<T> {
  const program = join(__dirname, 'database.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, [program, action, JSON.stringify(options)], {
    maxBuffer: 1024 * 1024,
    env: { ...process.env, ...(url !== undefined && { SQUAD_DATABASE_URL: url }) },
  });
  const answer = JSON.parse(stdout) as { ok: T } | { error: ErrorShape };
  if ('ok' in answer) return answer.ok;
  throw SquadError.from(answer.error);
}
