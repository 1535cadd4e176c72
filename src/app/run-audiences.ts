import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { TeamUpdates } from '../mcp/team-updates.ts';
import type { RunId } from '../schema/ids.ts';
import type { Audience } from '../wire/face/face.ts';

export type ListName = 'tools' | 'resources' | 'prompts';

/** Agents on the hub's socket, by run. */
export class RunAudiences {
  private readonly present = new Map<RunId, Set<Audience>>();

  /** Returns how to leave. */
  join(runId: RunId, audience: Audience): () => void {
    const here = this.present.get(runId) ?? new Set();
    this.present.set(runId, here.add(audience));
    return () => {
      here.delete(audience);
      if (here.size === 0) this.present.delete(runId);
    };
  }

  tell(runId: RunId, what: ListName): void {
    for (const audience of this.present.get(runId) ?? []) notifyListChanged(what, audience);
  }
}

export function notifyListChanged(what: ListName, { notices }: Audience): void {
  if (what === 'tools') notices.toolsChanged();
  else if (what === 'resources') notices.resourcesChanged();
  else notices.promptsChanged();
}

/** Notifies an audience of changes to its workspace's team. Returns how to leave. */
export function followTeam(
  updates: TeamUpdates,
  workspaces: Workspaces,
  caller: Caller,
  member: unknown,
  audience: Audience,
): () => void {
  let leave: (() => void) | null = null;
  let isGone = false;
  workspaces.open(caller).then(
    ({ root }) => {
      if (!isGone) leave = updates.join(root, member, audience);
    },
    // A workspace that cannot be opened has no changes; requests about it fail with the reason.
    () => {},
  );
  return () => {
    isGone = true;
    leave?.();
  };
}
