import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { z } from 'zod';
import type { Caller } from '../core/ports/workspace.ts';
import type { Call, Operation, UserServices } from '../operations/operation.ts';
import type { ErrorShape } from '../schema/error.ts';
import type { Event } from '../schema/event.ts';
import type { PageMessage } from '../schema/live.ts';
import type { Run } from '../schema/run.ts';
import type { RunCard } from '../schema/run-card.ts';

export type JsonSchema = Record<string, unknown>;

/** Browsers that were let in; see `src/http/sessions.ts`. */
export interface PageSessions {
  open(host: string): { token: string; isFirst: boolean };
  proof(id: string, nonce: string, host: string): string | null;
  hold(id: string): () => void;
  /** The session that a request came with; null: it came with another token. */
  of(request: IncomingMessage): string | null;
}

/**
 * What the page's server is given. It is a bundle of its own: what it imported from us beside types would be there twice, and an
 * error or a schema of one copy is none of the other's.
 */
export interface PagePorts {
  services: UserServices;
  operations: readonly Operation[];
  dispatch(operation: Operation, input: unknown, call: Call<UserServices>): Promise<unknown>;
  errorOf(thrown: unknown): ErrorShape;
  schemaOf(type: z.ZodType, io: 'input' | 'output'): JsonSchema;
  /** Null: it is none. */
  pageMessage(words: unknown): PageMessage | null;
  /** Every run whose card may be another after these. */
  touchedRuns(events: Event[]): Promise<Run[]>;
  cardsOf(runs: Run[]): Promise<RunCard[]>;
  /** What `export_run` told, as one HTML file and its name. */
  savedRun(data: unknown): Promise<{ name: string; page: string }>;
  /** Who asks, of a request whose token was right. */
  callerOf(request: IncomingMessage): Promise<Caller>;
  /** Whether a connection is the user's own, or may be. */
  isOwnPeer(socket: Socket): Promise<boolean>;
  sessions: PageSessions;
  version: string;
  /** Where the page's files are. */
  webFolder: string;
  mostBodyBytes: number;
  onInFlight(change: 1 | -1): void;
  log(level: 'debug' | 'warning' | 'error', message: string, cause: unknown): void;
}
