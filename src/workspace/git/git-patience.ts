import { setTimeout as delay } from 'node:timers/promises';
import { SquadError } from '../../schema/error.ts';
import { type Git, type GitRun, GitTrouble } from './git.ts';

/** How long somebody else may hold one of git's locks: an agent's own commit, the user's, a gc. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** As `git.run`, but a lock that somebody else holds is waited for. */
export async function runPatiently(git: Git, args: string[], how: GitRun = {}): Promise<Buffer> {
  const until = performance.now() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await git.run(args, how);
    } catch (trouble) {
      if (!isLocked(trouble) || performance.now() > until || how.signal?.aborted) throw trouble;
      await delay(pause);
    }
  }
}

const isLocked = (trouble: unknown): boolean =>
  trouble instanceof GitTrouble && (LOCKED.test(trouble.said) || HALF_MADE.test(trouble.said));

const LOCKED = /\.lock': File exists|could not lock|another git process/i;
/** Another git is just writing down a work tree of its own, and every git reads what is there of all of them. */
const HALF_MADE = /failed to read \S*\/worktrees\/\S+\/(commondir|gitdir|HEAD)\b/;

/** What went wrong with a repository, for whoever asked. */
export function gitFailure(what: string, trouble: unknown): SquadError | unknown {
  if (!(trouble instanceof GitTrouble)) return trouble;
  const options = { cause: trouble };
  if (trouble.message === 'not a git repository')
    return new SquadError('NOT_A_REPOSITORY', `${what}: it is not a git repository.`, options);
  if (/no space left|disk quota exceeded/i.test(trouble.said))
    return new SquadError('DISK_FULL', `${what}: the disk is full.`, {
      ...options,
      suggestions: [
        'Free some space (`squad worktrees prune` removes work trees nobody needs), then try again.',
      ],
    });
  return new SquadError('GIT_FAILED', `${what}: ${trouble.message}.`, {
    ...options,
    suggestions: [nextStep(trouble)],
  });
}

function nextStep(trouble: GitTrouble): string {
  const [, lock] = /'([^'\n]+\.lock)': File exists/.exec(trouble.said) ?? [];
  if (lock) return `Another git holds ${lock}. If none is at work there any more, remove that file.`;
  const [, elsewhere] = /already (?:checked out|used by worktree) at '([^'\n]+)'/.exec(trouble.said) ?? [];
  if (elsewhere) return `Switch ${elsewhere} to another branch first: a branch can be checked out only once.`;
  return 'Try the same by hand in that repository: git says more there.';
}
