import { decide } from '../core/gateway/decide.ts';
import type { CallAudit } from './audit-calls.ts';
import type { RunServers } from './run-servers.ts';

const LONGEST_NAME = 300;

export type AskedKind = 'tool' | 'resource' | 'prompt' | 'completion';

/** Writes down what a run asked for and has not. To the run it is as if there were no such thing. */
export class Denials {
  readonly #servers: RunServers;
  readonly #audit: CallAudit;
  readonly #onDenied: (name: string) => void;

  constructor(servers: RunServers, audit: CallAudit, onDenied: (name: string) => void) {
    this.#servers = servers;
    this.#audit = audit;
    this.#onDenied = onDenied;
  }

  /** `own`: the server's name for it, as far as the asked name tells. */
  deny(kind: AskedKind, asked: string, guess: { server: string; own: string } | null): null {
    const name = asked.slice(0, LONGEST_NAME);
    const { server, outcome } = this.#why(kind, guess);
    this.#audit.write({ server, kind, name, decision: 'denied', outcome });
    this.#onDenied(name);
    return null;
  }

  tell(name: string): void {
    this.#onDenied(name);
  }

  #why(
    kind: AskedKind,
    guess: { server: string; own: string } | null,
  ): { server: string | null; outcome: string } {
    if (guess === null) return { server: null, outcome: 'unknown' };
    const found = this.#servers.of(guess.server);
    if (found === null) return { server: guess.server, outcome: 'server' };
    const isWaiting =
      kind === 'tool' && found.pooled?.book.pins?.some(pin => pin.name === guess.own) === true;
    const decision = decide(
      [found.grant],
      {
        kind: kind === 'completion' ? 'prompt' : kind,
        server: guess.server,
        name: guess.own,
        isApproved: !isWaiting,
      },
      { workspaceRoot: this.#servers.roots.WORKSPACE_ROOT },
    );
    return { server: guess.server, outcome: decision.allowed ? 'unknown' : decision.reason };
  }
}

/** What an exposed name says by itself. A shortened one says the server only. */
export function guessed(name: string): { server: string; own: string } | null {
  const at = name.indexOf('__');
  const server = name.slice(0, at);
  return at > 0 && /^[a-z][a-z0-9-]{0,23}$/.test(server) && server !== 'squad'
    ? { server, own: name.slice(at + 2) }
    : null;
}
