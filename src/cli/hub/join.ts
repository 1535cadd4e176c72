import { asSquadError, SquadError } from '../../schema/error.ts';
import type { DatabaseFacts } from '../../schema/machines/cluster.ts';
import { confirmWithUser, mayAsk, readInput } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withOwnCommand } from '../own-command.ts';
import { askDatabase } from './database.ts';
import { stopRunningHub } from './hub.ts';

interface Joined extends DatabaseFacts {
  home: string;
  file: string;
  /** Number of rows that were moved, by table. Null if nothing was moved. */
  rows: Record<string, number> | null;
  /** Number of runs that were not moved. */
  left: number;
}

interface Left {
  database: string;
  home: string;
  file: string;
  /** Why the database could not be asked for runs that have not ended. Null if it could. */
  unreachable: string | null;
}

export interface JoinOptions {
  move?: boolean;
  yes?: boolean;
  undo?: boolean;
}

/** `squad hub join URL`: the hub of this home uses a PostgreSQL database from now on. */
export async function joinCommand(
  given: string | undefined,
  options: JoinOptions,
  context: CliContext,
): Promise<number> {
  if (options.undo) return leaveCommand(context);
  const url = given === '-' ? (await readInput()).trim() : given;
  if (!url)
    throw new SquadError('INVALID_INPUT', 'The URL of the database is missing.', {
      suggestions: ['squad hub join postgres://USER@HOST/DATABASE?sslmode=verify-full'],
    });
  // Checked before the hub is stopped. It changes nothing.
  const facts = await askDatabase<DatabaseFacts>('inspect', { url });
  await stopRunningHub();
  const joined = await join(url, facts, options, context);
  if (!joined) return EXIT.failed;
  const { SQUAD_DATABASE_URL: variable } = process.env;
  if (variable && variable !== url)
    printNotes(context, [
      'SQUAD_DATABASE_URL is set here, and a hub that gets it uses that database instead.',
    ]);
  return printResult(context, joined, () => joinedLines(joined, url));
}

/** Null if the user does not want to join without the runs of the SQLite file. */
async function join(
  url: string,
  { database }: DatabaseFacts,
  { move = false, yes = false }: JoinOptions,
  context: CliContext,
): Promise<Joined | null> {
  try {
    return await askDatabase<Joined>('join', { url, move, leaveRuns: yes });
  } catch (thrown) {
    const error = asSquadError(thrown);
    if (error.code !== 'ANSWER_NEEDED' || !mayAsk(context)) throw error;
    const question = `${error.message} Join ${database} without them?`;
    if (!(await confirmWithUser(question, error.suggestions[0] ?? '', context))) return null;
    return askDatabase<Joined>('join', { url, leaveRuns: true });
  }
}

function joinedLines({ database, home, file, rows, left, ...facts }: Joined, url: string): string[] {
  const { server, user, tls, hubs, missing } = facts;
  const total = Object.values(rows ?? {}).reduce((sum, count) => sum + count, 0);
  const hasPassword = URL.canParse(url) && new URL(url).password !== '';
  return [
    `The hub of ${home} uses ${database} from now on, whoever starts it.`,
    `  server    PostgreSQL ${server}, user ${user}`,
    `  tls       ${tls === null ? 'none' : `${tls.version}, server ${tls.isVerified ? 'verified' : 'not verified: use sslmode=verify-full'}`}`,
    `  tables    ${missing.length === 0 ? 'up to date' : `created or updated (${missing.length} migrations)`}`,
    `  hubs      ${hubs ?? 0} before`,
    rows === null
      ? left === 0
        ? '  moved     nothing: this home had no runs in a SQLite file'
        : `  moved     nothing: the hub restores ${left} runs from their folders; settings, questions, conversations and approved tools stay in ${file}`
      : `  moved     ${total} rows (${rows.runs ?? 0} runs) from ${file}, which was not changed`,
    ...(hasPassword
      ? ['The password is in a file of the home that only you can read. ~/.pgpass keeps it out of there.']
      : []),
    withOwnCommand('Start the hub: squad hub start. Undo: squad hub join --undo'),
  ];
}

async function leaveCommand(context: CliContext): Promise<number> {
  await stopRunningHub();
  const left = await askDatabase<Left>('leave');
  return printResult(context, left, () => [
    `The hub of ${left.home} uses ${left.file} again.`,
    `  ${left.database} keeps the runs of this home. The hub restores those that the file does not have from their folders, without questions and conversations.`,
    ...(left.unreachable === null
      ? []
      : [`  The database could not be asked for runs that have not ended: ${left.unreachable}`]),
  ]);
}
