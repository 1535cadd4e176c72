import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Caller } from '../core/ports/workspace.ts';
import { dispatch } from '../operations/dispatch.ts';
import type { Call, UserServices } from '../operations/operation.ts';
import { operationNamed } from '../operations/operations.ts';
import { followEvents } from '../operations/runs/events.ts';
import { asSquadError, type ErrorShape, SquadError } from '../schema/error.ts';
import { controlLine } from './control-line.ts';

/** A request of the terminal on the hub's socket: one JSON line each. */
const ControlRequest = z.object({
  id: z.number(),
  operation: z.string(),
  input: z.unknown().optional(),
  /** Maximum time that an operation may wait (default: no limit). */
  waitMs: z.number().int().nonnegative().optional(),
});
export type ControlRequest = z.infer<typeof ControlRequest>;

export type ControlReply =
  | { id: number; result: unknown }
  | { id: number; error: ErrorShape }
  | { id: number; item: unknown }
  | { id: number; progress: string };

export interface ControlOptions {
  services: UserServices;
  caller: Caller;
  /**
   * Called with 1 when a call begins and with -1 when it ends. `isFollowing` means that the call lasts as long as the
   * client watches, and can continue at another hub.
   */
  onInFlight(change: 1 | -1, isFollowing: boolean): void;
}

/** Maximum of unsent bytes, so that a terminal that reads slower than events arrive does not fill the hub's memory. */
const MAX_UNSENT = 8 * 1024 * 1024;
/** Number of unsent bytes from which the sending of stored events to a terminal pauses. */
const MAX_BEHIND = 1024 * 1024;
/** Limit for a line that never ends. The largest input is a task, which has its own limit. */
const MAX_LINE_LENGTH = 32 * 1024 * 1024;

/** Serves the operations to Squad's own terminal. Resolves when the client is gone. */
export async function serveControl(
  socket: Socket,
  { services, caller, onInFlight }: ControlOptions,
): Promise<void> {
  const gone = new AbortController();
  const send = (reply: ControlReply) => {
    if (socket.writableLength > MAX_UNSENT) socket.destroy();
    if (!socket.writable) return;
    // Sends stored events in batches, because there are hundreds and each would need a system call.
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(controlLine(reply));
  };
  /** Resolves when the client has caught up. Undefined if the client is not behind. */
  const keptUp = (): Promise<void> | undefined => {
    if (socket.writableLength < MAX_BEHIND || !socket.writable) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('drain', resolve);
    gone.signal.addEventListener('abort', () => resolve(), { once: true });
    return promise;
  };
  socket.once('close', () => gone.abort());
  let sinceNewline = 0;
  socket.on('data', (chunk: Buffer) => {
    const last = chunk.lastIndexOf('\n');
    sinceNewline = last < 0 ? sinceNewline + chunk.length : chunk.length - last - 1;
    if (sinceNewline <= MAX_LINE_LENGTH) return;
    lines.close();
    socket.end(controlLine({ id: 0, error: TOO_LONG.toShape() }), () => socket.destroy());
  });
  const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('line', line => void answer(line));
  lines.on('error', () => {}); // an error needs no handling here, because the 'close' event follows
  await new Promise<void>(settle => {
    lines.once('close', settle);
    socket.once('close', () => settle());
  });
  gone.abort();

  async function answer(line: string): Promise<void> {
    let id = 0;
    let leave = () => {};
    try {
      const message = jsonIn(line);
      id = idIn(message);
      const request = requestIn(message);
      const isFollowing = request.operation === followEvents.name;
      onInFlight(1, isFollowing);
      leave = () => onInFlight(-1, isFollowing);
      const call: Call<UserServices> = {
        services,
        caller,
        signal: gone.signal,
        waitMs: request.waitMs ?? null,
        progress: async message => send({ id, progress: message }),
        emit: item => {
          send({ id, item });
          return keptUp();
        },
      };
      send({ id, result: await dispatch(operationNamed(request.operation), request.input, call) });
    } catch (thrown) {
      send({ id, error: asSquadError(thrown).toShape() });
    } finally {
      leave();
    }
  }
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw malformed('The line is not JSON');
  }
}

/** Id of the refused request, so that the client knows which one it was; 0 if the message has none. */
function idIn(message: unknown): number {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === 'number' ? id : 0;
}

function requestIn(message: unknown): ControlRequest {
  const { data, error } = ControlRequest.safeParse(message);
  if (data) return data;
  const [issue] = error.issues;
  throw malformed(`The request is malformed: ${issue!.path.join('.') || 'it'}: ${issue!.message}`);
}

const malformed = (what: string): SquadError =>
  new SquadError('INVALID_INPUT', `${what}.`, {
    suggestions: ['Send one JSON object per line: {"id": 1, "operation": "…", "input": {…}}.'],
  });

const TOO_LONG = new SquadError(
  'MESSAGE_TOO_LARGE',
  `The request is longer than ${MAX_LINE_LENGTH} bytes, the limit for one line.`,
  {
    suggestions: ['Send a shorter request: put long text into a file, and name the file in the task.'],
  },
);
