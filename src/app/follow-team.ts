import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { TeamUpdates } from '../mcp/team-updates.ts';
import type { Audience } from '../wire/face/face.ts';

/** Lets somebody hear of their workspace's team for as long as they are here. Returns how to leave. */
export function followTeam(
  updates: TeamUpdates,
  workspaces: Workspaces,
  caller: Caller,
  who: unknown,
  audience: Audience,
): () => void {
  let leave: (() => void) | null = null;
  let isGone = false;
  workspaces.open(caller).then(
    ({ root }) => {
      if (!isGone) leave = updates.join(root, who, audience);
    },
    // A workspace that cannot be opened has no news; whatever is asked of it says why.
    () => {},
  );
  return () => {
    isGone = true;
    leave?.();
  };
}
