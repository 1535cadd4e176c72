import type { Json, Message } from '../message.ts';

export interface Tool {
  name: unknown;
  description?: unknown;
  inputSchema?: unknown;
  annotations?: unknown;
}

/** Tools that a behaviour has: sending messages or raw bytes, and timers. */
export interface Stage {
  send(message: object): void;
  /** Bytes as they are: no frame, no JSON. */
  raw(bytes: string | Uint8Array): void;
  /** Ends the process once what was written is out. */
  die(code: number): void;
  /** The answer an honest server would give. */
  honest(message: Message): void;
  /** Calls that came and were not answered, oldest first. */
  readonly open: Message[];
  /** How many calls came since the start. */
  calls: number;
}

/** Dealt with; otherwise the honest server answers. */
type Handled = true;

export interface Behaviour {
  /** In one line. */
  what: string;
  /** Whether the handshake and the list of tools are answered before a ping that comes after them. */
  comesUp: boolean;
  /**
   * How one call of `echo` looks to a client that keeps to the protocol and to its bounds. `result`: the honest answer,
   * whatever else comes. `own`: an answer that is the server's own to give, a bad one perhaps. `error`: an error of the
   * protocol. `nothing`: no answer, for ever, or the end, or something no client should take.
   */
  call: 'result' | 'own' | 'error' | 'nothing';
  started?(stage: Stage): void;
  /** By method. */
  on?: Record<string, (message: Message, stage: Stage) => Handled | undefined>;
  /** Replaces the list of tools. */
  tools?(stage: Stage): Tool[];
  /** Keeps running when its input ends and on SIGTERM. */
  stubborn?: boolean;
}

export const argumentsOf = (message: Message): Json => (message.params?.arguments ?? {}) as Json;

export const ECHO: Tool = {
  name: 'echo',
  description: 'Says the nonce again.',
  inputSchema: { type: 'object', properties: { nonce: { type: 'string' } } },
  annotations: { readOnlyHint: true },
};
