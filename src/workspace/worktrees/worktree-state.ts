import { relative } from 'node:path';
import type { WorktreeState } from '../../core/ports/worktrees.ts';
import { strangersIn } from '../../process/table/processes-in.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { type Git, GitTrouble, openGit } from '../git/git.ts';
import { withoutTeamFiles } from '../team/team-file.ts';
import { lockedWords, lookAt, type Place } from './worktree-place.ts';
import { commitsBetween, type Repository, repositoryOf, tipsOf } from './worktree-repository.ts';
import { nestedIn, readUnsaved, tooLargeIn, unfinishedIn } from './worktree-save.ts';

type Environment = Record<string, string | undefined>;
type BranchState = Pick<WorktreeState, 'tip' | 'ahead' | 'isMerged'>;

/** Each part by itself: what one cannot tell does not hide the others. */
export async function worktreeState(worktree: Worktree, env: Environment): Promise<WorktreeState> {
  const troubles: string[] = [];
  const told = <T>(work: Promise<T>, otherwise: T): Promise<T> =>
    work.catch(error => {
      troubles.push(error instanceof GitTrouble ? error.message : (error.code ?? error.message));
      return otherwise;
    });
  const unreadable: Place = { kind: 'foreign', why: 'it cannot be looked at' };
  const repository = await told(repositoryOf(worktree, env), null);
  const place = await told(lookAt(worktree.path, repository?.commonDir ?? null), unreadable);
  if (place.kind === 'foreign') troubles.push(place.why);
  const [branch, held, lock] = await Promise.all([
    told(branchState(worktree, repository), { tip: null, ahead: null, isMerged: null }),
    place.kind === 'whole' ? told(heldIn(worktree, env), null) : null,
    'gitDir' in place ? lockedWords(place.gitDir, worktree.path) : null,
  ]);
  const processes = strangersIn(worktree.path);
  if (processes === null && place.kind !== 'missing')
    troubles.push('this system does not tell which processes are at work in it');
  return {
    folder: folderState(place),
    ...branch,
    uncommitted: held?.uncommitted ?? null,
    processes: processes ?? [],
    held: lock ?? held?.why ?? null,
    large: held?.large ?? null,
    trouble: troubles.length > 0 ? troubles.join('; ') : null,
  };
}

/** One that is half-made is as good as not there: it is made anew when it is wanted. */
function folderState({ kind }: Place): WorktreeState['folder'] {
  if (kind === 'foreign') return 'foreign';
  return kind === 'whole' ? 'there' : 'missing';
}

async function branchState(worktree: Worktree, repository: Repository | null): Promise<BranchState> {
  const { branch, base, baseBranch } = worktree;
  if (!repository) throw new GitTrouble(`its repository ${worktree.repository} is gone`);
  const { git } = repository;
  const [tip = null, target = null] = await tipsOf(git, branch, baseBranch);
  if (tip === null) return { tip, ahead: null, isMerged: null };
  const ahead = await commitsBetween(git, base, tip);
  return { tip, ahead, isMerged: target === null ? null : await isIn(git, tip, target) };
}

const isIn = async (git: Git, tip: string, target: string): Promise<boolean> =>
  (await commitsBetween(git, target, tip)) === 0;

/** What of it is not committed, and what of that keeps it from being removed. */
async function heldIn(
  { path, workspace }: Worktree,
  env: Environment,
): Promise<{ uncommitted: number; why: string | null; large: string | null }> {
  const git = await openGit(path, env);
  const unsaved = await readUnsaved(git);
  const uncommitted = withoutTeamFiles(unsaved.entries, relative(path, workspace)).length;
  const large = await tooLargeIn(git, path, unsaved);
  return { uncommitted, why: unfinishedIn(git) ?? nestedIn(unsaved), large };
}
