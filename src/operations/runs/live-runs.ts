import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import type { Call } from '../operation.ts';

/**
 * The runs that have not ended in the caller's workspace, or everywhere. `others`: those elsewhere.
 * An agent sees only runs of its own, wherever they work. Throws WORKSPACE_UNSET or WORKSPACE_REFUSED.
 */
export async function liveRunsOf(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  isEverywhere: boolean,
): Promise<{ runs: Run[]; others: Run[]; workspace: string | null }> {
  const live = services.runner.liveRuns();
  const workspace = await scopeOf({ services, caller }, isEverywhere);
  const isHere = (run: Run) => workspace === null || run.workspace === workspace;
  return { runs: live.filter(isHere), others: live.filter(run => !isHere(run)), workspace };
}

/** Null: every workspace. */
async function scopeOf(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  isEverywhere: boolean,
): Promise<string | null> {
  if (isEverywhere || caller.parent) return null;
  try {
    return await services.workspaces.root(caller);
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    throw new SquadError(thrown.code, thrown.message, {
      suggestions: [...thrown.suggestions, 'Or give everywhere: true for the runs of every workspace.'],
      cause: thrown,
    });
  }
}
