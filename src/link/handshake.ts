import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** The first line on the hub's socket, in each direction. After it the connection speaks its view's own protocol. */

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
  /** Absolute path of a subagent's file. */
  config?: string;
  /** A run's token, from its identity file. */
  token?: string;
  /** Time of the first tool call that was lost with the hub before; the reply names the runs that were started since. */
  lostSince?: number;
}

/**
 * Sent before the reply where the hub has to know which process the client is: the client opens this file for writing, writes
 * to it and keeps it open until the reply. See `Proof`.
 */
export interface Challenge {
  squad: 1;
  prove: string;
}

export type HandshakeReply =
  /** `warnings`: for the user; the client is served all the same. `started`: runs since `lostSince`. */
  | { squad: 1; ok: true; version: string; pid: number; warnings?: string[]; started?: string[] }
  | { squad: 1; ok: false; error: { code: string; kind?: string; message: string; suggestions?: string[] } };

/** The hub's last line to every client; a killed hub sends none. For a client that has ended see `done`. */
export interface Bye {
  squad: 1;
  /**
   * `handover`: a newer hub starts by itself. `stop`: a hub starts when somebody needs one. `done`: the hub stays; the client
   * has ended, and all its calls with it.
   */
  bye: 'stop' | 'handover' | 'done';
  /** Every request that was read is answered: the client may safely send later ones again. */
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

/** A client's answer to the hub's challenge: the file that it holds open shows the hub which process it is. */
export class Proof {
  private file: number | null = null;

  /** Whether the message was a challenge. If the file cannot be opened, the hub refuses the client. */
  answers(message: object): boolean {
    if (!('prove' in message)) return false;
    try {
      this.file ??= openSync((message as Challenge).prove, constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.file, '.');
    } catch {} // the hub refuses, with the reason
    return true;
  }

  /** Call when the hub has replied. */
  release(): void {
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }
}
