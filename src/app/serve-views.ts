import { serveControl } from '../control/serve-control.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { Connection } from '../hub/server.ts';
import { type McpFaceOptions, mcpFace } from '../mcp/face.ts';
import type { EndNotices, TeamUpdates } from '../mcp/notices.ts';
import { servicesForAgent, subjectOf } from '../operations/agent-services.ts';
import type { Services, UserServices } from '../operations/operation.ts';
import { listRunning } from '../operations/runs/list-runs.ts';
import type { RunId } from '../schema/ids.ts';
import { runName } from '../schema/run-text.ts';
import type { Toolset } from '../schema/toolset.ts';
import type { Audience } from '../wire/face/face.ts';
import { serveStream } from '../wire/stream/serve-stream.ts';

export type ListName = 'tools' | 'resources' | 'prompts';

/** MCP clients of agents on the hub's socket, by run. */
export class RunAudiences {
  private readonly present = new Map<RunId, Set<Audience>>();

  /** Returns a function that unsubscribes. */
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

/** Notifies an MCP client of changes to its workspace's team. Returns a function that unsubscribes. */
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
    // A workspace that cannot be opened has no changes. Requests about it fail with the reason.
    () => {},
  );
  return () => {
    isGone = true;
    leave?.();
  };
}

interface ViewPorts {
  services: UserServices;
  version: string;
  workspaces: Workspaces;
  notices: EndNotices;
  teamUpdates: TeamUpdates;
  audiences: RunAudiences;
  serversOf: McpFaceOptions['serversOf'];
  onInFlight(change: number): void;
  debug(error: unknown): void;
}

/** Serves an MCP client on the hub's socket until it disconnects. */
export async function serveMcp(
  connection: Connection,
  caller: Caller,
  toolsets: readonly Toolset[] | null,
  ports: ViewPorts,
): Promise<void> {
  const { services, version, notices, teamUpdates, workspaces, audiences, serversOf } = ports;
  const { socket } = connection;
  const onInFlight = (count: number) => {
    const change = count - connection.calls;
    connection.calls = count;
    ports.onInFlight(change);
  };
  const stream = serveStream({
    input: socket,
    output: socket,
    build: () =>
      mcpFace({
        ...{ services, version, transport: 'stream', caller, toolsets, notices, serversOf },
        onRoots: placed => {
          leaveTeam();
          leaveTeam = followTeam(teamUpdates, workspaces, placed, stream, stream);
        },
      }),
    onInFlight,
    onError: ports.debug,
  });
  // Only the user's clients are notified when runs end. Every client is notified of changes to the team.
  const leave = caller.parent ? () => {} : notices.join(stream);
  const leaveRun = caller.parent ? audiences.join(caller.parent.id, stream) : () => {};
  let leaveTeam = followTeam(teamUpdates, workspaces, caller, stream, stream);
  socket.resume();
  await stream.closed;
  leave();
  leaveTeam();
  leaveRun();
  onInFlight(0);
}

/** Serves a terminal on the hub's socket until it disconnects. */
export async function serveTerminal(
  connection: Connection,
  caller: Caller,
  { services, onInFlight }: Pick<ViewPorts, 'services' | 'onInFlight'>,
): Promise<void> {
  if (connection.isOver) return;
  await serveControl(connection.socket, {
    services,
    caller,
    onInFlight: (change, isFollowing) => {
      connection.calls += change;
      // A newer hub must not wait for a terminal that follows events, because it may do so for days.
      if (!isFollowing) onInFlight(change);
    },
  });
}

const MAX_NAMED = 5;

/** Runs of the caller's workspace that were created since `at`, for a client whose call was lost when the hub died. */
export async function startedSince(at: number, caller: Caller, services: Services): Promise<string[]> {
  const workspace = await services.workspaces.root(caller).catch(() => null);
  if (workspace === null) return [];
  const subject = subjectOf({ services, caller });
  const { store } =
    subject.kind === 'user' ? services : await servicesForAgent(services, subject, listRunning);
  const runs = await store.runs({ workspace, limit: MAX_NAMED });
  return runs
    .filter(({ createdAt }) => createdAt >= at)
    .map(run => `${run.id} (${runName(run)}, ${run.status})`);
}
