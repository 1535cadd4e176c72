import type { ForgeAccess, ForgeRepository } from '../core/ports/git-host.ts';
import type { ProgramEnd } from '../process/programs/run-program.ts';
import { SquadError } from '../schema/error.ts';
import type { Worktree } from '../schema/worktree.ts';
import { asGitError, type OpenGit } from './git.ts';
import { pushTrouble } from './push-errors.ts';
import { inScratchRepository } from './scratch-repository.ts';
import { transport } from './transport.ts';

export interface Reach {
  openGit: OpenGit;
  pushLimitMs: number;
}

const MAX_BYTES = 1024 * 1024;

/** A commit of the branch, to the same name on the host. Never forced. */
export async function push(
  reach: Reach,
  worktree: Worktree,
  commit: string,
  repository: ForgeRepository,
  access: ForgeAccess,
): Promise<void> {
  const end = await call(reach, worktree, repository, access, [
    ...['push', '--porcelain', '--no-verify', '--no-signed', '--no-follow-tags', '--recurse-submodules=no'],
    ...transport(repository, access).receiver,
    ...['--', repository.url, `${commit}:refs/heads/${worktree.branch}`],
  ]);
  if (end.code !== 0)
    throw pushTrouble(end, { repository, access, branch: worktree.branch, limitMs: limitOf(reach, access) });
}

/** What the host has under the branch's name. */
export async function remoteTip(
  reach: Reach,
  worktree: Worktree,
  repository: ForgeRepository,
  access: ForgeAccess,
): Promise<string | null> {
  const ref = `refs/heads/${worktree.branch}`;
  const end = await call(reach, worktree, repository, access, ['ls-remote', '--', repository.url, ref]);
  if (end.code !== 0)
    throw pushTrouble(end, { repository, access, branch: worktree.branch, limitMs: limitOf(reach, access) });
  return /^([0-9a-f]{40,64})\t/.exec(String(end.stdout))?.[1] ?? null;
}

async function call(
  reach: Reach,
  worktree: Worktree,
  repository: ForgeRepository,
  access: ForgeAccess,
  args: string[],
): Promise<ProgramEnd> {
  const { protocol, options, env } = transport(repository, access);
  const own = await reach.openGit(worktree.repository, access.env).catch(thrown => {
    throw asGitError(thrown, worktree.repository);
  });
  const tip = await own
    .run(['rev-parse', '--verify', '--quiet', '--end-of-options', `refs/heads/${worktree.branch}^{commit}`])
    .then(found => String(found).trim())
    .catch(thrown => {
      throw new SquadError('GIT_FAILED', `There is no branch ${worktree.branch} in ${worktree.repository}`, {
        cause: thrown,
        suggestions: ['Somebody removed it. `squad worktrees` shows what there is.'],
      });
    });
  const objects = { env: access.env, objectsOf: own, isSha256: tip.length === 64 };
  return inScratchRepository(reach.openGit, objects, (git, scratchEnv, folder) =>
    git.reach([...options, ...args], protocol, {
      env: { ...scratchEnv, ...env(folder) },
      limitMs: limitOf(reach, access),
      maxBytes: MAX_BYTES,
    }),
  );
}

const limitOf = ({ pushLimitMs }: Reach, { patienceMs = pushLimitMs }: ForgeAccess): number => patienceMs;
