import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { PlannedWorktree, WorktreeAsk } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { branchOf, folderFor, isInside, pathText, resolveExistingPart } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { readRefs, submodulePaths } from '../git/commits.ts';
import { type Environment, type Git, gitFailure, openGit } from '../git/git.ts';
import { findGitFolder } from '../git/git-folder.ts';
import { readStatus } from '../git/git-status.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { usersRoot } from './worktree-place.ts';

const SHOWN = 5;

/** Notes on how a work tree that Squad creates differs from a usual checkout. */
async function treeNotes(git: Git, commit: string): Promise<string[]> {
  const hasModules = await isPlainFile(join(git.folder.root, '.gitmodules'));
  const [modules, filters] = await Promise.all([
    hasModules ? submodulePaths(git, commit) : [],
    filtersNamed(git),
  ]);
  const notes: string[] = [];
  if (modules.length > 0)
    notes.push(
      `Submodules are not checked out in the work tree (${listed(modules.map(pathText))}). A set-up command can do it: git submodule update --init.`,
    );
  if (filters.includes('lfs'))
    notes.push(
      'Files in Git LFS are pointers in the work tree, not their content. A set-up command can fetch it: git lfs pull.',
    );
  const others = filters.filter(name => name !== 'lfs');
  if (others.length > 0)
    notes.push(
      `Files in the work tree are as git stores them: Squad does not run the filter ${listed(others)}.`,
    );
  return notes;
}

function uncommittedNote(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 file has changes that are' : `${count} files have changes that are`;
  return [`${what} not committed, and therefore not in the work tree.`];
}

/** Filters that the attributes file at the root names. */
async function filtersNamed({ folder }: Git): Promise<string[]> {
  const files = [join(folder.root, '.gitattributes'), join(folder.commonDir, 'info', 'attributes')];
  const texts = await Promise.all(files.map(async file => String((await readPlainFile(file)) ?? '')));
  const lines = texts.flatMap(text => text.split('\n')).filter(line => !line.startsWith('#'));
  const names = lines.flatMap(line => [...line.matchAll(/\sfilter=(\S+)/g)].map(match => match[1]!));
  return [...new Set(names)];
}

const listed = (names: string[]): string =>
  names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '');

/** An existing branch blocks its own name and every name below it: `a` blocks `a/b`. */
export function refuseTaken(branch: string, refs: Map<string, string>, commonDir: string): void {
  const parts = branch.split('/');
  const taken = parts
    .map((_, i) => parts.slice(0, i + 1).join('/'))
    .find(name => refs.has(`refs/heads/${name}`));
  if (taken)
    throw new SquadError(
      'BRANCH_EXISTS',
      `The branch ${branch} cannot be created: git cannot have it together with the branch ${taken}.`,
      {
        suggestions: [
          `Rename that branch: \`git --git-dir ${shellWord(commonDir)} branch -m ${shellWord(taken)} ANOTHER-NAME\`.`,
        ],
      },
    );
}

export async function noRepository(directory: string): Promise<SquadError> {
  const bare = bareAround(directory);
  if (bare)
    return new SquadError(
      'REPOSITORY_UNSUITABLE',
      `${bare} is a bare repository: nothing is checked out in it.`,
      {
        suggestions: [
          `Create a checkout with \`git -C ${shellWord(bare)} worktree add ../work\`, then name that folder.`,
        ],
      },
    );
  return new SquadError(
    'NOT_A_REPOSITORY',
    `${directory} is not in a git repository, which work trees need.`,
    {
      suggestions: [
        'Create a repository (`git init`, then a first commit), or work in the folder itself: `isolation: "none"` in the call, `squad run --no-worktree` in a terminal.',
      ],
    },
  );
}

function bareAround(directory: string): string | null {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (['HEAD', 'objects', 'refs'].every(name => existsSync(join(folder, name)))) return folder;
    if (dirname(folder) === folder) return null;
  }
}

const noCommits = (root: string): SquadError =>
  new SquadError(
    'REPOSITORY_UNSUITABLE',
    `${root} has no commits yet, so there is nothing to make a work tree from.`,
    {
      suggestions: ['Make a first commit: `git commit --allow-empty -m "Begin"`.'],
    },
  );

/** Timeout for the status of a repository, even of a big one whose files are not in the system's cache. */
const STATUS_TIMEOUT_MS = 60_000;

/** Plans the work tree for a run. Changes nothing. */
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
  } catch (error) {
    throw gitFailure(`No work tree can be made of ${around}`, error);
  }
}

/** Plans a work tree from the commit that is checked out in the caller's folder. */
async function planFresh(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const { root, commonDir } = git.folder;
  const inside = relative(root, ask.directory);
  const [status, refs, isKnown] = await Promise.all([
    readStatus(git, { limitMs: STATUS_TIMEOUT_MS }),
    readRefs(git, 'refs/heads/squad'),
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

/** Plans a work tree from the tip of another work tree's branch. */
async function planFork(git: Git, folder: string, ask: WorktreeAsk): Promise<PlannedWorktree> {
  const from = ask.from!;
  const refs = await readRefs(git, 'refs/heads/squad', `refs/heads/${from.branch}`);
  const base = refs.get(`refs/heads/${from.branch}`);
  if (!base)
    throw new SquadError('GIT_FAILED', `The branch ${from.branch} is gone, so it cannot be forked.`, {
      suggestions: [`\`git branch -a\` in ${from.repository} lists its branches.`],
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

/** Translates a path in the other work tree or its repository to the path in the fork. */
function inFork({ path, repository }: Worktree, fork: string, place: string): string | null {
  const root = [path, repository].find(each => isInside(each, place));
  return root === undefined ? null : join(fork, relative(root, place));
}

async function hasFolder(git: Git, commit: string, path: string): Promise<boolean> {
  return (await git.run(['ls-tree', '-d', '--name-only', '-z', commit, '--', path])).length > 0;
}
