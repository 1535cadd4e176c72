import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { diffFiles } from '../../base/diff-files.ts';
import { hasHidden, visibleLine } from '../../base/text.ts';
import type {
  BranchTip,
  ConflictHunk,
  Integration,
  Target,
  Touched,
  Trial,
  TrialBranch,
  TrialOutcome,
} from '../../core/ports/integration.ts';
import { SquadError } from '../../schema/error.ts';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { branchDiff } from '../evidence/diff.ts';
import { eachOf } from '../files/file-stamp.ts';
import { pathText, splitPaths } from '../files/paths.ts';
import { branchTip, COMMITTER, commitTree, committer, isAncestor, readRefs } from '../git/commits.ts';
import { type Environment, type Git, GitError, gitFailure, openGit, runWithLockRetry } from '../git/git.ts';
import { PLAIN_DIFF, readStatus } from '../git/git-status.ts';
import { withoutFeedback } from '../review/feedback-commits.ts';
import { folderFit, moveTarget, settleMove } from './move-target.ts';

interface Onto {
  commit: string;
  branch: string;
}

/** Timeout for a merge, even of big branches. */
const MERGE_TIMEOUT_MS = 120_000;
const MAX_MESSAGES = 20;
const MAX_MESSAGE_LENGTH = 300;

/** Merges one branch after another, only in the object database. Skips branches that conflict. */
export async function trialMerge(
  git: Git,
  onto: Onto,
  branches: readonly TrialBranch[],
  identity: Record<string, string>,
  signal?: AbortSignal,
): Promise<Trial> {
  const outcomes: TrialOutcome[] = [];
  let result = onto.commit;
  for (const branch of branches) {
    signal?.throwIfAborted();
    const outcome = await mergeOne(branch);
    if (outcome.outcome === 'merged') result = outcome.commit;
    outcomes.push(outcome);
  }
  return { result, outcomes };

  async function mergeOne({ branch, tip, message }: TrialBranch): Promise<TrialOutcome> {
    if (await isAncestor(git, tip, result)) return { outcome: 'nothing' };
    const theirs = await withoutFeedback(git, result, tip);
    const merge = ['merge-tree', '--write-tree', '--messages', '--name-only', '-z', result, theirs];
    const said = await git
      .run(merge, { codes: [1], limitMs: MERGE_TIMEOUT_MS, signal, env: identity })
      .catch(nullIfUnrelated);
    if (said === null) return { outcome: 'conflict', files: [], messages: [UNRELATED], hunks: [] };
    const { tree, files, messages } = parseMerge(said);
    if (files.length > 0 || messages.length > 0) {
      const names = [
        [result, onto.branch],
        [theirs, branch],
      ] as const;
      const hunks = await conflictHunks(git, tree, files, names);
      return { outcome: 'conflict', files: files.map(pathText), messages: readable(messages, names), hunks };
    }
    const changed = await changedFiles(git, result, tree);
    const commit = await commitTree(git, tree, [result, tip], `Merge ${branch}: ${message}`, identity);
    return { outcome: 'merged', commit, files: changed };
  }
}

async function changedFiles(git: Git, from: string, to: string): Promise<number> {
  const list = await git.run([...PLAIN_DIFF, '--name-only', '-z', from, to, '--'], { env: COMMITTER });
  return splitPaths(list).length;
}

/** Parses `tree, file…, '', (count, path…, kind, text)…`, separated by NUL. */
function parseMerge(output: Buffer): { tree: string; files: string[]; messages: string[] } {
  const [tree = '', ...rest] = output.toString('latin1').split('\0');
  const end = rest.indexOf('');
  const files = end === -1 ? [] : rest.slice(0, end);
  const messages: string[] = [];
  for (let at = end + 1; at < rest.length; ) {
    const paths = Number(rest[at]);
    if (!Number.isInteger(paths) || rest[at] === '') break;
    const [kind = '', text = ''] = rest.slice(at + 1 + paths, at + 3 + paths);
    if (kind.startsWith('CONFLICT')) messages.push(Buffer.from(text.trim(), 'latin1').toString());
    at += 3 + paths;
  }
  return { tree, files: [...new Set(files)], messages };
}

function readable(messages: readonly string[], names: readonly (readonly [string, string])[]): string[] {
  const shown = messages.slice(0, MAX_MESSAGES).map(message => {
    const named = names.reduce((text, [commit, name]) => text.replaceAll(commit, name), message);
    return named.length > MAX_MESSAGE_LENGTH
      ? `${named.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…`
      : named;
  });
  const more = messages.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

const MAX_HUNK_FILES = 5;
const MAX_FILE_BYTES = 512 * 1024;
const MAX_HUNK_LINES = 120;
const CONTEXT_LINES = 3;

/** Reads the conflicting places from the merged tree, where git has written its conflict markers. */
async function conflictHunks(
  git: Git,
  tree: string,
  files: readonly string[],
  names: readonly (readonly [string, string])[],
): Promise<ConflictHunk[]> {
  const hunks: ConflictHunk[] = [];
  for (const file of files.slice(0, MAX_HUNK_FILES)) {
    const path = Buffer.from(file, 'latin1').toString();
    // Files that one side deleted, and files that are too large, have no conflict markers to show.
    const text = await git
      .run(['cat-file', 'blob', `${tree}:${path}`], { maxBytes: MAX_FILE_BYTES })
      .then(String, () => '');
    const found = markedLines(text.split('\n'));
    if (found.length === 0) continue;
    const shown = names.reduce((lines, [commit, name]) => lines.replaceAll(commit, name), found.join('\n'));
    hunks.push({ path: pathText(file), text: shown });
  }
  return hunks;
}

function markedLines(lines: readonly string[]): string[] {
  const wanted = new Set<number>();
  let start = -1;
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('<<<<<<< ')) start = at;
    if (!line.startsWith('>>>>>>> ') || start < 0) continue;
    for (let i = Math.max(0, start - CONTEXT_LINES); i <= at + CONTEXT_LINES && i < lines.length; i++)
      wanted.add(i);
    start = -1;
  }
  const places = [...wanted].slice(0, MAX_HUNK_LINES);
  return places.flatMap((at, i) => (i > 0 && places[i - 1] !== at - 1 ? ['…', lines[at]!] : [lines[at]!]));
}

const UNRELATED = 'it has no commit in common with the target';

function nullIfUnrelated(error: unknown): null {
  if (error instanceof GitError && /unrelated histories/.test(error.said)) return null;
  if (error instanceof GitError && /usage: git merge-tree|unknown option/i.test(error.said))
    throw new SquadError('GIT_FAILED', 'This git is too old: merging needs version 2.38 or later.', {
      suggestions: ['Update git, then try again. Nothing was changed.'],
      cause: error,
    });
  throw error;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_NAMED = 8;

/** Warns about files to which a merge would add control, bidirectional or invisible characters. */
export async function hiddenInMerge(git: Git, from: string, to: string): Promise<string[]> {
  if (from === to) return [];
  const { text, isTruncated } = await branchDiff(git, from, to, { maxBytes: MAX_BYTES });
  const found: string[] = [];
  for (const { path, body } of diffFiles(text)) {
    if (hasHidden(addedLines(body))) found.push(visibleLine(path));
    // Lets the hub handle other requests between two files.
    await setImmediate();
  }
  const named = found.slice(0, MAX_NAMED).join(', ');
  const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : '';
  return [
    ...(found.length > 0
      ? [`Hidden characters are added to ${named}${more}: read \`squad diff RUN\`, which shows them`]
      : []),
    ...(isTruncated ? ['Only the first 4 MiB of the changes were searched for hidden characters'] : []),
  ];
}

const addedLines = (body: string): string =>
  body
    .split('\n')
    .filter(line => line.startsWith('+'))
    .join('\n');

/**
 * Files that a work tree has changed since it left its base branch, read by two git processes in parallel. Never
 * rejects.
 */
export async function touchedFiles(worktree: Worktree, env: Environment): Promise<Touched> {
  try {
    const isThere = existsSync(worktree.path);
    const git = await openGit(isThere ? worktree.path : worktree.repository, env);
    const [committed, uncommitted] = await Promise.all([
      committedFiles(git, worktree, isThere ? 'HEAD' : `refs/heads/${worktree.branch}`),
      isThere ? uncommittedFiles(git) : [],
    ]);
    const files = new Set([...committed, ...uncommitted]);
    // The feedback file does not count, because it is left out of merges.
    files.delete(FEEDBACK_FILE);
    return { files: [...files].sort(), why: null };
  } catch (error) {
    if (error instanceof GitError) return { files: null, why: error.message };
    return { files: null, why: `the folder could not be read (${(error as Error).message})` };
  }
}

/**
 * Files that the branch itself changed since it left its base. Changes that were merged from the base do not count.
 */
async function committedFiles(git: Git, { base, baseBranch }: Worktree, tip: string): Promise<string[]> {
  const since = async (from: string) => {
    return splitPaths(await git.run([...PLAIN_DIFF, '--name-only', '-z', `${from}...${tip}`, '--'])).map(
      pathText,
    );
  };
  if (baseBranch === null) return since(base);
  return since(`refs/heads/${baseBranch}`).catch(error => {
    // The base branch may have been deleted. The commit that the branch started from still exists.
    if (error instanceof GitError && error.exitCode === 128) return since(base);
    throw error;
  });
}

/** Git uses one thread here, because several work trees are read at once and more threads would only compete. */
async function uncommittedFiles(git: Git): Promise<string[]> {
  const { entries } = await readStatus(git, {}, ['-c', 'core.preloadIndex=false']);
  return entries.map(({ path }) => pathText(path));
}

/** Number of work trees to read at once. Each takes two git processes, which use most of a core each. */
const AT_ONCE = Math.max(2, availableParallelism());

export function createIntegration(env: Environment = process.env): Integration {
  const within = async <T>(repository: string, work: (git: Git) => Promise<T>): Promise<T> => {
    try {
      return await work(await openGit(repository, env));
    } catch (error) {
      throw gitFailure(`Git failed on the branches of ${repository}`, error);
    }
  };
  return {
    touched: worktrees => eachOf(worktrees, worktree => touchedFiles(worktree, env), AT_ONCE),
    tips: (repository, into) => within(repository, git => readTips(git, into)),
    target: (repository, branch) => within(repository, git => readTarget(git, branch)),
    trial: (repository, onto, branches, signal) =>
      within(repository, async git => trialMerge(git, onto, branches, await committer(git, env), signal)),
    fit: async move => {
      const hidden = await within(move.repository, git => hiddenInMerge(git, move.from, move.to));
      const { obstacles, warnings } =
        move.folder === null
          ? { obstacles: [], warnings: [] }
          : await within(move.folder, git => folderFit(git, move));
      return { obstacles, warnings: [...warnings, ...hidden] };
    },
    move: (move, checkpoint) => within(move.repository, () => moveTarget(move, env, checkpoint)),
    settle: move => within(move.repository, () => settleMove(move, env)),
    dropRef: (repository, ref) =>
      within(repository, async git => void (await runWithLockRetry(git, ['update-ref', '-d', ref]))),
  };
}

async function readTips(git: Git, into: string | null): Promise<Map<string, BranchTip>> {
  const target = into === null ? null : await branchTip(git, into);
  const [all, open] = await Promise.all([
    readRefs(git, 'refs/heads/squad/'),
    target === null ? null : readRefs(git, `--no-merged=${target}`, 'refs/heads/squad/'),
  ]);
  return new Map(
    [...all].map(([ref, tip]) => [
      ref.replace('refs/heads/', ''),
      { tip, isMerged: open !== null && !open.has(ref) },
    ]),
  );
}

async function readTarget(git: Git, branch: string): Promise<Target> {
  const commit = await branchTip(git, branch);
  if (commit === null)
    throw new SquadError('INVALID_INPUT', `There is no branch ${branch} in ${git.folder.root}`, {
      suggestions: ['Name an existing branch with `--into BRANCH`; `git branch` lists them.'],
    });
  const list = String(await git.run(['worktree', 'list', '--porcelain', '-z']));
  const holders = list
    .split('\0\0')
    .filter(block => block.split('\0').includes(`branch refs/heads/${branch}`));
  const folders = holders.flatMap(block => /^worktree ([^\0]+)/.exec(block)?.[1] ?? []);
  return {
    commit,
    checkedOutAt: await Promise.all(folders.map(folder => realpath(folder).catch(() => folder))),
  };
}
