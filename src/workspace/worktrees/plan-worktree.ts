import { realpath, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { PlannedWorktree, WorktreeAsk } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { branchOf, folderFor, isInside, resolveExistingPart } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { type Git, gitFailure, openGit } from '../git/git.ts';
import { findGitFolder } from '../git/git-folder.ts';
import { readStatus } from '../git/git-status.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { usersRoot } from './worktree-place.ts';

const SHOWN = 5;

/** What of the repository is not as usual in a work tree that Squad makes. */
async function treeNotes(git: Git, commit: string): Promise<string[]> {
  const [modules, filters] = await Promise.all([submodulePaths(git, commit), filtersNamed(git)]);
  const notes: string[] = [];
  if (modules.length > 0)
    notes.push(
      `Submodules are not checked out in the work tree (${listed(modules)}). A set-up command can do it: git submodule update --init.`,
    );
  if (filters.includes('lfs'))
    notes.push(
      'Files in Git LFS are pointers in the work tree, not their content. A set-up command can fetch it: git lfs pull.',
    );
  const others = filters.filter(name => name !== 'lfs');
  if (others.length > 0)
    notes.push(`Files are as git keeps them in the work tree: the filter ${listed(others)} is not run.`);
  return notes;
}

function uncommittedNote(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 file has changes that are' : `${count} files have changes that are`;
  return [`${what} not committed, and so not in the work tree.`];
}

/** Paths from the root. */
async function submodulePaths(git: Git, commit: string): Promise<string[]> {
  if (!(await isPlainFile(join(git.folder.root, '.gitmodules')))) return [];
  const args = ['config', '-z', '--blob', `${commit}:.gitmodules`, '--get-regexp', '^submodule\\..*\\.path$'];
  // It may have come after the commit, or say nothing of use.
  const list = String(await git.run(args).catch(() => ''));
  return list.split('\0').flatMap(entry => entry.split('\n').slice(1).join('\n') || []);
}

/** Filters that the attributes at the root name. */
async function filtersNamed({ folder }: Git): Promise<string[]> {
  const files = [join(folder.root, '.gitattributes'), join(folder.commonDir, 'info', 'attributes')];
  const texts = await Promise.all(files.map(async file => String((await readPlainFile(file)) ?? '')));
  const lines = texts.flatMap(text => text.split('\n')).filter(line => !line.startsWith('#'));
  const names = lines.flatMap(line => [...line.matchAll(/\sfilter=(\S+)/g)].map(match => match[1]!));
  return [...new Set(names)];
}

const listed = (names: string[]): string =>
  names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '');

/** A branch stands in the way of its own name, and of every name that goes on from it. */
export function refuseTaken(branch: string, refs: Map<string, string>, commonDir: string): void {
  const parts = branch.split('/');
  const taken = parts.map((_, i) => parts.slice(0, i + 1).join('/')).find(name => refs.has(name));
  if (taken)
    throw new SquadError(
      'BRANCH_EXISTS',
      `The branch ${branch} cannot be made: there is a branch ${taken}.`,
      {
        suggestions: [
          `Rename it: git --git-dir ${shellWord(commonDir)} branch -m ${shellWord(taken)} ANOTHER-NAME`,
        ],
      },
    );
}

/** There is none, or one in which nothing can be checked out. */
export async function noRepository(directory: string): Promise<SquadError> {
  const bare = await bareAround(directory);
  if (bare)
    return new SquadError(
      'REPOSITORY_UNSUITABLE',
      `${bare} is a bare repository: nothing is checked out in it.`,
      {
        suggestions: [
          `Work in a checkout of it: git -C ${shellWord(bare)} worktree add ../work, then name that folder.`,
        ],
      },
    );
  return new SquadError(
    'NOT_A_REPOSITORY',
    `${directory} is not in a git repository, and only that can have work trees.`,
    {
      suggestions: [
        'Make it one (git init, then a first commit), or work in the folder itself: `isolation: "none"` in the call, `squad run --no-worktree` in a terminal.',
      ],
    },
  );
}

async function bareAround(directory: string): Promise<string | null> {
  for (let folder = directory; ; folder = dirname(folder)) {
    const parts = ['HEAD', 'objects', 'refs'].map(name => stat(join(folder, name)).then(() => true));
    if ((await Promise.allSettled(parts)).every(({ status }) => status === 'fulfilled')) return folder;
    if (dirname(folder) === folder) return null;
  }
}

const noCommits = (root: string): SquadError =>
  new SquadError(
    'REPOSITORY_UNSUITABLE',
    `${root} has no commits yet, so there is nothing to make a work tree of.`,
    {
      suggestions: ['Make a first commit: git commit --allow-empty -m "Begin"'],
    },
  );

/** A big repository that nobody has looked at for a while. */
const STATUS_MS = 60_000;

type Environment = Record<string, string | undefined>;

/** What a work tree for this run would be. Changes nothing. */
export async function planWorktree(
  folder: string,
  env: Environment,
  ask: WorktreeAsk,
): Promise<PlannedWorktree> {
  const directory = await resolveExistingPart(ask.directory);
  const around = ask.from?.repository ?? directory;
  if (!(await findGitFolder(around))) throw await noRepository(around);
  try {
    const git = await openGit(around, env);
    return await (ask.from ? planFork : planFresh)(git, await resolveExistingPart(folder), {
      ...ask,
      directory,
    });
  } catch (trouble) {
    throw gitFailure(`No work tree can be made of ${around}`, trouble);
  }
}

/** Of what is checked out where the caller is. */
async function planFresh(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const { root, commonDir } = git.folder;
  const inside = relative(root, ask.directory);
  const [status, refs, isKnown] = await Promise.all([
    readStatus(git, { limitMs: STATUS_MS }),
    branchTips(git, 'squad'),
    inside === '' ? true : hasFolder(git, 'HEAD', inside).catch(() => true),
  ]);
  if (status.head === null) throw noCommits(root);
  const workspace = await resolveExistingPart(ask.workspace);
  const repository = usersRoot(git.folder, folder);
  const worktree: Worktree = {
    ...(await placed(git, folder, ask)),
    ...{ repository, base: status.head, baseBranch: status.branch },
    workspace: '',
  };
  worktree.workspace = isInside(root, workspace)
    ? join(worktree.path, relative(root, workspace))
    : worktree.path;
  refuseTaken(worktree.branch, refs, commonDir);
  return {
    worktree,
    directory: join(worktree.path, inside),
    notes: [
      ...uncommittedNote(withoutTeamFiles(status.entries, relative(root, workspace)).length),
      ...(await treeNotes(git, status.head)),
      ...(isKnown ? [] : [`${inside} is not committed: it is an empty folder in the work tree.`]),
    ],
  };
}

/** Of another work tree's branch, as far as that is committed. */
async function planFork(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const from = ask.from!;
  const refs = await branchTips(git, 'squad', from.branch);
  const base = refs.get(from.branch);
  if (!base)
    throw new SquadError('GIT_FAILED', `The branch ${from.branch} is gone, so there is nothing to fork.`, {
      suggestions: [`\`git branch -a\` in ${from.repository} shows the branches there are.`],
    });
  const place = await placed(git, folder, ask);
  const workspace =
    inFork(from, place.path, ask.workspace) ?? join(place.path, relative(from.path, from.workspace));
  const directory = inFork(from, place.path, ask.directory) ?? workspace;
  const inside = relative(place.path, directory);
  refuseTaken(place.branch, refs, git.folder.commonDir);
  const isKnown = inside === '' || (await hasFolder(git, base, inside));
  return {
    worktree: { ...place, repository: from.repository, base, baseBranch: from.branch, workspace },
    directory,
    notes: [
      ...(await treeNotes(git, base)),
      ...(isKnown ? [] : [`${inside} is not committed: it is an empty folder in the work tree.`]),
    ],
  };
}

const placed = async ({ folder: { commonDir } }: Git, folder: string, { name, runId }: WorktreeAsk) => ({
  path: join(folderFor(folder, await realpath(commonDir)), runId),
  branch: branchOf(name, runId),
});

/** A path in the other work tree, or in the repository it came of, as it is in the fork of it. */
function inFork({ path, repository }: Worktree, fork: string, place: string): string | null {
  const root = [path, repository].find(each => isInside(each, place));
  return root === undefined ? null : join(fork, relative(root, place));
}

/** Tips of the branches of these names, and of those below them. */
async function branchTips(git: Git, ...names: string[]): Promise<Map<string, string>> {
  const patterns = names.map(name => `refs/heads/${name}`);
  const list = String(
    await git.run(['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', ...patterns]),
  );
  return new Map(
    list.split('\n').flatMap(line => {
      const at = line.indexOf(' ');
      return at < 0 ? [] : [[line.slice(at + 1), line.slice(0, at)] as const];
    }),
  );
}

async function hasFolder(git: Git, commit: string, path: string): Promise<boolean> {
  return (await git.run(['ls-tree', '-d', '--name-only', '-z', commit, '--', path])).length > 0;
}
