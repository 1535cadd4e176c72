import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { WorktreeSetup } from '../../core/ports/worktrees.ts';
import { endLogged, type LoggedEnd, runLogged } from '../../process/programs/run-logged.ts';
import type { ProcessTable } from '../../process/table/process-table.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { writePlainFile } from '../files/plain-file.ts';
import type { Git } from '../git/git.ts';
import { readStatus } from '../git/git-status.ts';
import { copyInto } from './worktree-copy.ts';
import { copiedFile } from './worktree-place.ts';

const SETUP_MS = 600_000;
const LAST_BYTES = 4096;
const LAST_LINES = 8;

/** Makes a fresh work tree usable, and writes down what of that git would take for the agent's work. */
export async function setUp(
  worktree: Worktree,
  setup: WorktreeSetup,
  { git, gitDir, table, signal }: { git: Git; gitDir: string; table: ProcessTable; signal?: AbortSignal },
): Promise<void> {
  const copied = await copy(worktree, setup, signal);
  if (setup.setup) await command(worktree, setup, table, signal);
  if (copied === 0 && !setup.setup) return;
  const { entries } = await readStatus(git, { signal });
  const untracked = entries.filter(({ isUntracked }) => isUntracked);
  const list = untracked.map(({ path }) => `${path}\0`).join('');
  await writePlainFile(copiedFile(gitDir), Buffer.from(list, 'latin1'));
}

/** Ends a set-up command that outlived its hub. */
export const endSetUp = (table: ProcessTable, { path }: Worktree): Promise<unknown> =>
  endLogged(table, tagOf(path));

async function copy({ workspace }: Worktree, setup: WorktreeSetup, signal?: AbortSignal): Promise<number> {
  try {
    const { copy: paths = [], source } = setup;
    return await copyInto({ paths, source, target: workspace, signal });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // The system's own words, of a full disk say, are known by their code.
    if (code !== undefined) throw error;
    throw new SquadError('SETUP_FAILED', `The work tree could not be made usable: ${message}.`, {
      suggestions: ['Put `worktree.copy` in .squad/squad.json right.'],
      cause: error,
    });
  }
}

async function command(
  { workspace, path }: Worktree,
  setup: WorktreeSetup,
  table: ProcessTable,
  signal?: AbortSignal,
): Promise<void> {
  const { env, logFile, setupTimeoutMs: limitMs = SETUP_MS } = setup;
  const argv = setup.setup as [string, ...string[]];
  const end = await runLogged({
    table,
    argv,
    cwd: workspace,
    env,
    tag: tagOf(path),
    logFile,
    limitMs,
    signal,
  });
  if (end.code === 0 && end.cut === null) return;
  const said = await lastLines(logFile);
  throw new SquadError(
    'SETUP_FAILED',
    `The set-up command ${argv[0]} ${how(end, limitMs)} (all it printed: ${logFile})${said && `:\n${said}`}`,
    {
      suggestions: [
        'The command is `worktree.setup` in .squad/squad.json; it runs in a fresh work tree, without a shell.',
      ],
    },
  );
}

function how({ code, killedBy, cut }: LoggedEnd, limitMs: number): string {
  if (cut === 'time') return `took longer than ${limitMs / 1000} s and was ended`;
  if (cut === 'abort') return 'was no longer wanted and was ended';
  if (cut !== null) return `could not be started (${cut.missing})`;
  return code === null ? `was ended by ${killedBy}` : `failed with exit code ${code}`;
}

async function lastLines(file: string): Promise<string> {
  const log = await open(file, 'r').catch(() => null);
  if (!log) return '';
  try {
    const { size } = await log.stat();
    const length = Math.min(size, LAST_BYTES);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').slice(-LAST_LINES).join('\n');
  } finally {
    await log.close();
  }
}

/** Known from the path alone, so that any later hub finds what is left of it. */
const tagOf = (path: string): string =>
  `worktree.${createHash('sha256').update(path).digest('hex').slice(0, 20)}`;
