import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { z } from 'zod';
import type { Caller } from '../core/ports/workspace.ts';
import type { Call, Operation, UserServices } from '../operations/operation.ts';
import type { ErrorShape } from '../schema/error.ts';
import type { Event } from '../schema/event.ts';
import type { ClientMessage } from '../schema/live.ts';
import type { Run } from '../schema/run.ts';
import type { RunCard } from '../schema/run-card.ts';

export type JsonSchema = Record<string, unknown>;

/** Browser sessions. See `src/http/sessions.ts`. */
export interface WebSessions {
  open(host: string): { token: string; isFirst: boolean };
  proof(id: string, nonce: string, host: string): string | null;
  hold(id: string): () => void;
  /** Session of a request. Null if it came with another kind of token. */
  of(request: IncomingMessage): string | null;
}

/**
 * Everything that the web server needs from the hub. It is a separate bundle: a value imported from our code would exist twice,
 * and `instanceof` fails between the two copies of an error class or a schema.
 */
export interface WebPorts {
  services: UserServices;
  operations: readonly Operation[];
  dispatch(operation: Operation, input: unknown, call: Call<UserServices>): Promise<unknown>;
  errorOf(thrown: unknown): ErrorShape;
  schemaOf(type: z.ZodType, io: 'input' | 'output'): JsonSchema;
  /** Parses a message of a client. Null if it is not valid. */
  parseMessage(value: unknown): ClientMessage | null;
  /** Every run whose card may have changed with these events. */
  touchedRuns(events: Event[]): Promise<Run[]>;
  cardsOf(runs: Run[]): Promise<RunCard[]>;
  /** The output of `export_run` as one HTML file, and its name. */
  savedRun(data: unknown): Promise<{ name: string; page: string }>;
  /** Caller of a request whose token was accepted. */
  callerOf(request: IncomingMessage): Promise<Caller>;
  /** True when a connection comes from the user's own process, or when that cannot be determined. */
  isOwnPeer(socket: Socket): Promise<boolean>;
  sessions: WebSessions;
  version: string;
  /** Folder with the files of the web UI. */
  webFolder: string;
  maxBodyBytes: number;
  onInFlight(change: 1 | -1): void;
  log(level: 'debug' | 'warning' | 'error', message: string, cause: unknown): void;
}
