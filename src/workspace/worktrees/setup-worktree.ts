import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, lstat, lutimes, mkdir, readdir, readlink, symlink, utimes } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { Command } from '../../core/ports/turns.ts';
import type { WorktreeSetup } from '../../core/ports/worktrees.ts';
import { endLogged, endOfLog, type LoggedEnd, runLogged } from '../../process/programs/run-logged.ts';
import type { ProcessTable } from '../../process/table/process-table.ts';
import { SquadError } from '../../schema/error.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, joinPaths, resolveInside } from '../files/paths.ts';
import { writePlainFile } from '../files/text-file.ts';
import type { Git } from '../git/git.ts';
import { readStatus } from '../git/git-status.ts';
import { copiedFile } from './worktree-place.ts';

interface CopyOptions {
  /** Paths to copy. Each is relative to both `source` and `target`. */
  paths: readonly string[];
  source: string;
  target: string;
  signal?: AbortSignal;
}

const AT_ONCE = 16;

/**
 * Copies files and folders to free paths, so that files of the commit stay. Links are copied as links. Missing paths
 * are skipped. Error messages begin with the path. Returns the number of copied paths.
 */
async function copyInto({ paths, source, target, signal }: CopyOptions): Promise<number> {
  let count = 0;
  for (const given of paths) {
    const path = checkedPath(given);
    const place = await resolveInside(source, join(source, path));
    if ('missing' in place) continue;
    if ('outside' in place) throw new Error(`${given} leads out of the workspace`);
    if ('fault' in place) throw new Error(`${given} ${place.fault}`);
    if (isInside(place.real, target)) throw new Error(`${given} contains the work tree itself`);
    await makeFolders(target, dirname(path), given);
    await copyEntry(join(source, path), join(target, path), signal);
    count++;
  }
  return count;
}

function checkedPath(given: string): string {
  const path = normalize(given).replace(/\/+$/, '');
  const parts = path.split(sep);
  if (isAbsolute(path) || parts.includes('..')) throw new Error(`${given} leads out of the workspace`);
  if (path === '.' || path.includes('\0')) throw new Error(`${given} is not a path in the workspace`);
  if (parts.some(part => part.toLowerCase() === '.git')) throw new Error(`${given} belongs to git`);
  return path;
}

/** Creates one folder at a time, because a folder that is a link in the work tree may lead anywhere. */
async function makeFolders(target: string, way: string, given: string): Promise<void> {
  let folder = target;
  await mkdir(folder, { recursive: true });
  for (const part of way === '.' ? [] : way.split(sep)) {
    folder = join(folder, part);
    await mkdir(folder).catch(unlessThere);
    if (!(await lstat(folder)).isDirectory())
      throw new Error(`${given} cannot be copied: ${part} is no folder there`);
  }
}

async function copyEntry(from: string, to: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const found = await lstat(from);
  if (found.isDirectory()) {
    await mkdir(to).catch(unlessThere);
    if (!(await lstat(to)).isDirectory()) return;
    const names = await readdir(from);
    for (let at = 0; at < names.length; at += AT_ONCE)
      await Promise.all(
        names.slice(at, at + AT_ONCE).map(name => copyEntry(join(from, name), join(to, name), signal)),
      );
    await utimes(to, found.atime, found.mtime);
  } else if (found.isSymbolicLink()) {
    const isNew = await symlink(await readlink(from), to).then(() => true, unlessThere);
    if (isNew) await lutimes(to, found.atime, found.mtime);
  } else if (found.isFile()) {
    const how = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
    const isNew = await copyFile(from, to, how).then(() => true, unlessThere);
    if (isNew) await utimes(to, found.atime, found.mtime);
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

const SETUP_TIMEOUT_MS = 600_000;
const TAIL_BYTES = 4096;
const TAIL_LINES = 8;

/** Copies files, runs the set-up command, and records the resulting files that git would count as the agent's work. */
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
  await writePlainFile(copiedFile(gitDir), joinPaths(untracked.map(({ path }) => path)));
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
    // Errors of the system, such as a full disk, have a code. They are passed on unchanged.
    if (code !== undefined) throw error;
    throw new SquadError('SETUP_FAILED', `The work tree could not be set up: ${message}.`, {
      suggestions: ['Fix `worktree.copy` in .squad/squad.json.'],
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
  const { logFile, setupTimeoutMs: limitMs = SETUP_TIMEOUT_MS } = setup;
  const [program, ...args] = setup.setup as [string, ...string[]];
  const end = await runLogged({
    table,
    ...(await confined(setup, [program, ...args])),
    cwd: workspace,
    tag: tagOf(path),
    logFile,
    limitMs,
    signal,
  });
  if (end.code === 0 && end.cut === null) return;
  const log = await endOfLog(logFile, TAIL_BYTES);
  const output = log.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  throw new SquadError(
    'SETUP_FAILED',
    `The set-up command ${program} ${describeEnd(end, limitMs)} (full output: ${logFile})${output && `:\n${output}`}`,
    {
      suggestions: [
        'The command is `worktree.setup` in .squad/squad.json; it runs in a fresh work tree, without a shell.',
        ...(setup.confine
          ? ['It runs in the sandbox of the run, with the files and hosts of its agent.']
          : []),
      ],
    },
  );
}

async function confined(
  { env, confine }: WorktreeSetup,
  argv: [string, ...string[]],
): Promise<Pick<Command, 'argv' | 'env'>> {
  if (!confine) return { argv, env };
  return confine({ argv, env, stdin: null }).catch(error => {
    // Errors of the system, such as a full disk, have a code. They are passed on unchanged.
    if (error.code !== undefined) throw error;
    throw new SquadError(
      'SETUP_FAILED',
      `The set-up command ${argv[0]} cannot be started in the sandbox of the run: ${error.message}.`,
      { suggestions: ['`squad doctor` says whether sandboxes work here.'], cause: error },
    );
  });
}

function describeEnd({ code, killedBy, cut }: LoggedEnd, limitMs: number): string {
  if (cut === 'time') return `timed out after ${limitMs / 1000} s`;
  if (cut === 'abort') return 'was cancelled';
  if (cut !== null) return `could not be started (${cut.missing})`;
  return code === null ? `was ended by ${killedBy}` : `failed with exit code ${code}`;
}

/** Mark of the set-up's processes. It depends only on the path, so that any later hub finds them. */
const tagOf = (path: string): string =>
  `worktree.${createHash('sha256').update(path).digest('hex').slice(0, 20)}`;
