import type { Socket } from 'node:net';
import { LineSplitter } from '../../base/lines.ts';

/** A network namespace that contains only the hub's port and a proxy. */
export interface Room {
  /** Paths of the room's user and network namespaces. They are valid while the proxy process lives. */
  user: string;
  net: string;
  hubPort: number;
  proxyPort: number;
}

/** When a room is closed: at the end of its turn, or when all processes in the room have ended. */
export type RoomTerm = 'turn' | 'processes';

/** Requests of the hub to the proxy process, one JSON line each. */
export type ControlRequest = { id: number } & (
  | { do: 'open'; runId: string; folder: string; hosts: string[]; lasts: RoomTerm }
  /** Asks which run made a connection to the hub. `port` is the local port of the proxy process on that connection. */
  | { do: 'whose'; port: number }
  /** Reports the hub's port. The reply comes when a room for this port is ready. */
  | { do: 'hub'; port: number | null }
);

export type ControlReply = { id: number } & ({ result: unknown } | { error: string });

/** Maximum length of a message. Every valid message is far shorter. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Calls `onMessage` with each message. A line that is not JSON, or is too long, closes the connection. */
export function readMessages<T>(socket: Socket, onMessage: (message: T) => void): void {
  const lines = new LineSplitter(
    { maxBytes: MAX_MESSAGE_BYTES },
    {
      line(bytes) {
        let message: T;
        try {
          message = JSON.parse(bytes.toString('utf8')) as T;
        } catch {
          socket.destroy();
          return;
        }
        onMessage(message);
      },
      piece: () => void socket.destroy(),
    },
  );
  socket.on('data', chunk => lines.push(chunk as Buffer));
}
