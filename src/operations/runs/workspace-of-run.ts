import type { Caller, Workspace } from '../../core/ports/workspace.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { Services } from '../operation.ts';

/** The workspace of an earlier run. The caller did not name this folder, so an error must not say so or ask for another. */
export async function workspaceOfRun(
  { workspaces }: Pick<Services, 'workspaces'>,
  caller: Caller,
  folder: string,
): Promise<Workspace> {
  return workspaces.open({ ...caller, workspace: folder }).catch(thrown => {
    const error = asSquadError(thrown);
    if (error.code !== 'WORKSPACE_REFUSED') throw error;
    throw new SquadError(
      error.code,
      `The workspace of that run is gone or cannot be used any more: ${folder}.`,
      {
        suggestions: ['Put the folder back, or start the task again in another one with `squad run`.'],
        cause: thrown,
      },
    );
  });
}
