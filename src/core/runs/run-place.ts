import { asSquadError, SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Role } from '../../schema/role.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Workspace } from '../ports/workspace.ts';
import type { Worktrees } from '../ports/worktrees.ts';
import type { RunRequest } from './run-request.ts';

/** Where a run works. */
export interface RunPlace {
  directory: string;
  worktree: Worktree | null;
  /** Somebody is at work in it: nothing is to be set up there. */
  isShared: boolean;
  /** What the caller should know about it. */
  notes: string[];
}

export interface PlaceContext {
  runId: RunId;
  /** What the run is called in the name of its branch. */
  name: string;
  role: Role | null;
  workspace: Workspace;
  worktrees: Pick<Worktrees, 'plan' | 'repositoryOf'>;
  /** The work tree of the run that asks. */
  around: Worktree | null;
}

/**
 * In the caller's folder, or in a work tree of its own. What an agent in a work tree starts stays in there too, or has a
 * fork of it: the user's own checkout is none of its business.
 */
export async function placeOf(request: RunRequest, context: PlaceContext): Promise<RunPlace> {
  const { runId, name, role, workspace, worktrees, around } = context;
  if (request.place) {
    await checkPlace(request, request.place, context);
    return { ...request.place, isShared: false, notes: [] };
  }
  const directory = await workspace.directory(request.cwd, around?.workspace);
  const isolation = request.isolation ?? role?.meta.isolation ?? 'none';
  if (isolation === 'none' && !request.forkOf)
    return { directory, worktree: around, isShared: true, notes: [] };
  const from = request.forkOf ?? around ?? undefined;
  try {
    const planned = await worktrees.plan({
      ...{ runId, name, directory },
      workspace: around?.workspace ?? workspace.root,
      ...(from && { from }),
    });
    return { ...planned, isShared: false };
  } catch (thrown) {
    if (isolation !== 'auto' || request.forkOf) throw thrown;
    const { code, message, suggestions } = asSquadError(thrown);
    if (code === 'NOT_A_REPOSITORY' || code === 'REPOSITORY_UNSUITABLE')
      return { directory, worktree: around, isShared: true, notes: [] };
    throw new SquadError(code, message, { suggestions: [...suggestions, IN_PLACE], cause: thrown });
  }
}

const IN_PLACE =
  'Or work without a work tree: `isolation: "none"` in the call, or `squad run --no-worktree`.';

/** A folder from before may be gone by now, or no longer allowed. A work tree that is gone is made again. */
async function checkPlace(
  { subagent }: RunRequest,
  { directory, worktree }: NonNullable<RunRequest['place']>,
  { workspace, worktrees }: PlaceContext,
): Promise<void> {
  // A subagent works where its caller was started, in the workspace or not.
  if (!worktree) await workspace.directory(directory, subagent ? directory : undefined);
  else if ((await worktrees.repositoryOf(worktree)) === null)
    throw new SquadError(
      'NOT_A_REPOSITORY',
      `The work tree ${worktree.path} belongs to ${worktree.repository}, which is no repository any more`,
      { suggestions: ['Put the repository back where it was, or start a new run where it is now.'] },
    );
}
