import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Branches, CodeTravel } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import { savedRefOf, type Worktree } from '../../schema/worktree.ts';
import { committer, isAncestor } from '../git/commits.ts';
import { type Environment, type Git, gitFailure, openGit } from '../git/git.ts';

const BUNDLE_TIMEOUT_MS = 600_000;
/** Git checks every incoming object and starts no maintenance, which would outlive the command. */
const CAREFUL = [
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.fsckObjects=true',
  'transfer.fsckObjects=true',
];

/**
 * Work trees of runs on another machine. Each has a copy here, which is sent there before a turn and updated after it.
 * All other code reads the run's work from this copy.
 */
export function createCodeTravel(
  branches: Branches,
  { env = process.env }: { env?: Environment } = {},
): CodeTravel {
  const at = async <T>(worktree: Worktree, act: (git: Git) => Promise<T>): Promise<T> => {
    try {
      return await act(await openGit(worktree.path, env));
    } catch (error) {
      throw gitFailure(
        `The work tree ${worktree.path} could not be brought to or from another machine`,
        error,
      );
    }
  };

  return {
    names: ({ path }) => ({
      repo: basename(dirname(path)),
      worktree: basename(path),
      ref: refOf(path, 'work'),
    }),
    pack: (worktree, haves) =>
      at(worktree, async git => {
        const tip = await branches.tip(worktree);
        const work = (await branches.prepareAll(worktree, 'Uncommitted work'))?.to ?? tip;
        const ref = refOf(worktree.path, 'work');
        await git.run(['update-ref', ref, work]);
        await git.run(['update-ref', refOf(worktree.path, 'tip'), tip]);
        const known = await knownOf(git, haves);
        const { GIT_AUTHOR_NAME: name = '', GIT_AUTHOR_EMAIL: email = '' } = await committer(git, env);
        const author = { name, email };
        const missing = String(await git.run(['rev-list', '--count', work, ...known])).trim();
        if (missing === '0') return { tip, work, author, bundle: null, done: async () => {} };
        const folder = await mkdtemp(join(tmpdir(), 'squad-bundle-'));
        const bundle = join(folder, 'bundle');
        await git.run(['bundle', 'create', '-q', bundle, ref, ...known], { limitMs: BUNDLE_TIMEOUT_MS });
        return { tip, work, author, bundle, done: () => rm(folder, { recursive: true, force: true }) };
      }),
    have: worktree =>
      at(worktree, async git => {
        const refs = ['tip', 'work'].map(name => refOf(worktree.path, name));
        const list = String(await git.run(['for-each-ref', '--format=%(objectname)', ...refs]));
        return [...new Set([worktree.base, ...list.split('\n').filter(Boolean)])];
      }),
    unpack: (worktree, came) => at(worktree, git => unpack(git, worktree, came, branches)),
  };
}

const refOf = (path: string, name: string): string => `refs/squad/boxes/${basename(path)}/${name}`;

async function unpack(
  git: Git,
  worktree: Worktree,
  { tip, work, bundle }: { tip: string; work: string; bundle: string | null },
  branches: Branches,
): Promise<string | null> {
  const ref = refOf(worktree.path, 'work');
  const arrived = refOf(worktree.path, 'in');
  if (bundle !== null) {
    const options = CAREFUL.flatMap(each => ['-c', each]);
    const args = ['fetch', '-q', '--no-tags', '--no-write-fetch-head', bundle, `+${ref}:${arrived}`];
    const end = await git.reach([...options, ...args], 'file', { limitMs: BUNDLE_TIMEOUT_MS });
    if (end.code !== 0)
      throw refused(end.stderr.split('\n').find(line => /^(fatal|error):/.test(line)) ?? '');
  }
  const isWhole = (commit: string) =>
    git.run(['cat-file', '-e', `${commit}^{commit}`]).then(
      () => true,
      () => false,
    );
  if (!(await isWhole(work)) || !(await isWhole(tip)) || !(await isAncestor(git, tip, work)))
    throw refused('the commits that it names are not in it');
  const [before, sent] = await Promise.all([refValue(git, refOf(worktree.path, 'tip')), refValue(git, ref)]);
  const local = await branches.tip(worktree);
  const localWork = (await branches.prepareAll(worktree, 'Uncommitted work'))?.to ?? local;
  const isSame = async (one: string | null, other: string) =>
    one !== null && (one === other || (await treeOf(git, one)) === (await treeOf(git, other)));
  let note: string | null = null;
  if (local !== before || !(await isSame(sent, localWork))) {
    // The review loop has moved the branch, or somebody worked in the copy here.
    if (tip === before && (await isSame(sent, work))) return null;
    const kept = await keepUnderRef(git, worktree, local === before ? localWork : work);
    if (local !== before)
      return `Its branch has moved here meanwhile, so what it did after that is kept in ${kept}.`;
    note = `Changes that were made in the copy of its work tree here are kept in ${kept}.`;
  }
  await git.run(['clean', '-fdq']);
  // HEAD must not move, because its log would then name commits that are on no branch.
  await git.run(['read-tree', '--reset', '-u', work]);
  await git.run(['update-ref', `refs/heads/${worktree.branch}`, tip]);
  await git.run(['symbolic-ref', 'HEAD', `refs/heads/${worktree.branch}`]);
  await git.run(['reset', '-q']);
  await git.run(['update-ref', ref, work]);
  await git.run(['update-ref', refOf(worktree.path, 'tip'), tip]);
  return note;
}

const refused = (why: string): SquadError =>
  new SquadError(
    'GIT_FAILED',
    `The commits from the other machine were refused: ${why.replace(/^\w+: /, '')}.`,
    {
      suggestions: ['The commits are still in the work tree on that machine, below ~/.squad-runner.'],
    },
  );

const treeOf = async (git: Git, commit: string): Promise<string> =>
  String(await git.run(['rev-parse', `${commit}^{tree}`])).trim();

const refValue = async (git: Git, ref: string): Promise<string | null> =>
  String(await git.run(['for-each-ref', '--format=%(objectname)', ref])).trim() || null;

async function knownOf(git: Git, haves: readonly string[]): Promise<string[]> {
  if (haves.length === 0) return [];
  const input = Buffer.from(`${haves.join('\n')}\n`);
  const list = String(await git.run(['cat-file', '--batch-check=%(objectname) %(objecttype)'], { input }));
  return list.split('\n').flatMap(line => (line.endsWith(' commit') ? [`^${line.split(' ')[0]}`] : []));
}

async function keepUnderRef(git: Git, worktree: Worktree, commit: string): Promise<string> {
  const base = savedRefOf(worktree);
  for (let n = 1; ; n++) {
    const ref = n === 1 ? base : `${base}-${n}`;
    if ((await refValue(git, ref)) !== null) continue;
    await git.run(['update-ref', ref, commit]);
    return ref;
  }
}
