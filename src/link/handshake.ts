/** The first line on the hub's socket, each way. After it the connection speaks its view's own protocol. */

/** `subagent`: an MCP client that sees the one tool a file defines. */
export type View = 'mcp' | 'control' | 'subagent';

export interface Handshake {
  squad: 1;
  version: string;
  view: View;
  pid: number;
  cwd: string;
  env: Record<string, string>;
  /** This client starts a hub of its own version when an older one makes way for it. */
  startsHub?: true;
  /** `--workspace`, when given. */
  workspace?: string;
  /** `--toolsets`, when given. */
  toolsets?: string;
  /** Of a subagent: its file, absolute. */
  config?: string;
  /** A run's, from its identity file. */
  token?: string;
  /** Tool calls were lost with the hub before, the first of them made at this time: which runs may they have started? */
  lostSince?: number;
}

/**
 * Asked before the greeting where it matters which process the client is: it opens this file for writing, writes to it and
 * keeps it open until it is greeted. See `Proof`.
 */
export interface Challenge {
  squad: 1;
  prove: string;
}

export type HandshakeReply =
  /** `warnings`: for whoever started the client; nothing of them keeps it from being served. `started`: runs since `lostSince`. */
  | { squad: 1; ok: true; version: string; pid: number; warnings?: string[]; started?: string[] }
  | { squad: 1; ok: false; error: { code: string; kind?: string; message: string; suggestions?: string[] } };

/** The hub's last line to every client when it ends in order; one that was killed says nothing. To a client that ended: see `done`. */
export interface Bye {
  squad: 1;
  /**
   * `handover`: a newer hub comes by itself. `stop`: none comes until somebody needs one. `done`: the hub stays, and nothing
   * is left of the calls of a client that has ended, where they end with it.
   */
  bye: 'stop' | 'handover' | 'done';
  /** Nothing this client asked is unanswered, and nothing more was read: what it sent meanwhile may safely be sent again. */
  idle: boolean;
}

/** An environment as it can be sent. */
export const definedVariables = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** True when `a` is a later version than `b`: numbers only, a pre-release counts as its release. */
export function isNewer(a: string, b: string): boolean {
  const left = numbers(a);
  const right = numbers(b);
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) > (right[i] ?? 0);
  return false;
}

const numbers = (version: string): number[] =>
  version.split(/[.+-]/, 3).map(part => Number.parseInt(part, 10) || 0);
