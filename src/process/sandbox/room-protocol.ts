import type { Socket } from 'node:net';
import { LineSplitter } from '../../base/lines.ts';

/** A network namespace with the hub's port and a proxy in it. */
export interface Room {
  /** Paths of its namespaces, for as long as the proxy process lives. */
  user: string;
  net: string;
  hubPort: number;
  proxyPort: number;
}

/** What the hub asks of the proxy process, one JSON line each. */
export type ControlRequest = { id: number } & (
  | { do: 'open'; runId: string; folder: string; hosts: string[] }
  /** The run behind a connection to the hub, by the local port of the proxy's end. */
  | { do: 'whose'; port: number }
  /** The hub's port. Answered when a room could be opened. */
  | { do: 'hub'; port: number | null }
);

export type ControlReply = { id: number } & ({ result: unknown } | { error: string });

/** Far more than any message has. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Calls back with each message. Closes the connection at one that is none. */
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
