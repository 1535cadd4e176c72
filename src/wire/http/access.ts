import { setImmediate as turn } from 'node:timers/promises';
import { type McpHttpHandler, ProtocolError } from '@modelcontextprotocol/server';
import type { Audience } from '../face/face.ts';
import type { HttpCall } from './http-call.ts';
import type { LegacySessions } from './legacy-sessions.ts';

/**
 * The sessions and streams that one owner has open over HTTP. They end together, and an ended access is never opened
 * again; the owner may get a new one.
 */
export interface Access {
  owner: string;
  /** Aborted when the access ends, with the error that open requests are answered with. */
  cutOff: AbortSignal;
  /** Serves the owner's modern requests, so that these and the listening streams can be notified and ended together. */
  modern: McpHttpHandler;
  /** Requests of this owner that are answered without the SDK. */
  calls: Set<HttpCall>;
}

interface Open extends Access {
  controller: AbortController;
}

export class Accesses {
  readonly #byOwner = new Map<string, Open>();
  readonly #openModern: (cutOff: AbortSignal) => McpHttpHandler;
  readonly #legacy: LegacySessions;

  constructor(openModern: (cutOff: AbortSignal) => McpHttpHandler, legacy: LegacySessions) {
    this.#openModern = openModern;
    this.#legacy = legacy;
  }

  of(owner: string): Access {
    const known = this.#byOwner.get(owner);
    if (known) return known;
    const controller = new AbortController();
    const cutOff = controller.signal;
    const modern = this.#openModern(cutOff);
    const access = { owner, controller, cutOff, modern, calls: new Set<HttpCall>() };
    this.#byOwner.set(owner, access);
    return access;
  }

  /** Notification targets: the clients of one owner, or of all owners. */
  *audiences(owner?: string): Iterable<Audience> {
    for (const [name, access] of this.#byOwner) {
      if (owner !== undefined && name !== owner) continue;
      // Modern clients get log messages only within a request.
      yield { notices: access.modern.notify, log: () => {} };
      for (const server of this.#legacy.servers(access)) yield server.audience;
    }
  }

  async end(owner: string, why: string): Promise<void> {
    const access = this.#byOwner.get(owner);
    if (!access) return;
    this.#byOwner.delete(owner);
    const reason = new ProtocolError(-32000, why);
    access.controller.abort(reason);
    for (const call of access.calls) call.cutOff(reason);
    // Pending requests are answered before the streams close.
    await turn();
    await Promise.all([access.modern.close(), this.#legacy.end(access)]);
  }

  async endAll(why: string): Promise<void> {
    await Promise.all(Array.from(this.#byOwner.keys(), owner => this.end(owner, why)));
  }
}
