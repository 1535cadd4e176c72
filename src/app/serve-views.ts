import { serveControl } from '../control/serve-control.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { Connection } from '../hub/server.ts';
import type { EndNotices } from '../mcp/end-notices.ts';
import { type McpFaceOptions, mcpFace } from '../mcp/face.ts';
import type { TeamUpdates } from '../mcp/team-updates.ts';
import type { UserServices } from '../operations/operation.ts';
import type { Toolset } from '../schema/toolset.ts';
import { serveStream } from '../wire/stream/serve-stream.ts';
import { followTeam, type RunAudiences } from './run-audiences.ts';

export interface ViewPorts {
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
  // Only the user's clients are notified of ends; everybody is notified of changes to the team.
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
      // A newer hub must not wait for a terminal that follows events, maybe for days.
      if (!isFollowing) onInFlight(change);
    },
  });
}
