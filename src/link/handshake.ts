import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** The first line on the hub's socket, in each direction. After it, the connection uses the protocol of its view. */

/** Kind of connection. `subagent` is an MCP client that sees only the tool of a subagent file. */
export type View = 'mcp' | 'control' | 'subagent';

export interface Handshake {
  squad: 1;
  version: string;
  view: View;
  pid: number;
  cwd: string;
  env: Record<string, string>;
  /** This client starts a hub of its own version after an older hub has handed over. */
  startsHub?: true;
  /** Value of `--workspace`, if given. */
  workspace?: string;
  /** Name of the editor, from `squad acp`. */
  client?: string;
  /** Value of `--toolsets`, if given. */
  toolsets?: string;
  /** Absolute path of a subagent's file. */
  config?: string;
  /** A run's token, from its identity file. */
  token?: string;
  /**
   * Time of the first tool call that was lost with the previous hub. The reply lists the runs that were started since
   * that time.
   */
  lostSince?: number;
}

/**
 * Message of the hub before its reply, when the hub must know which process the client is. The client opens the file
 * for writing, writes to it and keeps it open until the reply. See `Proof`.
 */
export interface Challenge {
  squad: 1;
  prove: string;
}

export type HandshakeReply =
  /**
   * `warnings` are shown to the user, and do not keep the client from being served. `started` lists the runs that
   * were started since the handshake's `lostSince`.
   */
  | { squad: 1; ok: true; version: string; pid: number; warnings?: string[]; started?: string[] }
  | { squad: 1; ok: false; error: { code: string; kind?: string; message: string; suggestions?: string[] } };

/** The hub's last line to every client; a killed hub sends none. */
export interface Bye {
  squad: 1;
  /**
   * `handover`: a client with a newer version starts the next hub. `stop`: the next hub starts when it is needed.
   * `done`: the hub keeps running, and this client and all its calls have ended.
   */
  bye: 'stop' | 'handover' | 'done';
  /** True if every request that the hub read is answered, so that the client may safely repeat later ones. */
  idle: boolean;
}

/** The environment without undefined values, so that it can be sent. */
export const definedVariables = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/** True when `a` is a later version than `b`. Compares only the numbers; a pre-release counts as its release. */
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

  /** Returns whether the message was a challenge. If the file cannot be opened, the hub refuses the client. */
  answers(message: object): boolean {
    if (!('prove' in message)) return false;
    try {
      this.file ??= openSync((message as Challenge).prove, constants.O_WRONLY | constants.O_APPEND);
      writeSync(this.file, '.');
    } catch {} // the hub refuses the client and says why
    return true;
  }

  /** Closes the file. Call this when the hub has replied. */
  release(): void {
    if (this.file !== null) closeSync(this.file);
    this.file = null;
  }
}
