import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import { asSquadError } from '../schema/error.ts';
import type { Call, Peer, ToolResult } from '../wire/face/face.ts';

/** Key under which a modern client returns its roots. */
export const ROOTS_KEY = 'workspace_roots';
const Roots = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** The caller of one client, with the client's roots if nothing else names the workspace. */
export class ClientRoots {
  readonly #workspaces: Pick<Workspaces, 'needsRoots'>;
  readonly #caller: Caller;
  readonly #onKnown: (caller: Caller) => void;
  #known: Promise<Caller> | null = null;

  constructor(
    workspaces: Pick<Workspaces, 'needsRoots'>,
    caller: Caller,
    onKnown: (caller: Caller) => void = () => {},
  ) {
    this.#workspaces = workspaces;
    this.#caller = caller;
    this.#onKnown = onKnown;
  }

  /** Asks the client at most once, until its roots change. */
  caller(peer: Peer | Call): Promise<Caller> {
    const said = 'raw' in peer ? peer.raw.mcpReq.inputResponses?.[ROOTS_KEY] : undefined;
    if (said !== undefined) this.#known = Promise.resolve(this.#with(rootsIn(said)));
    if (this.#known === null && peer.roots) this.#known = this.#ask(peer.roots);
    return this.#known ?? Promise.resolve(this.#caller);
  }

  changed(): void {
    this.#known = null;
  }

  /** For modern clients: the answer that asks for roots, when the call failed because no workspace was set. */
  async request(call: Call, failure: unknown): Promise<ToolResult | null> {
    if (call.era !== 'modern' || !call.capabilities.roots || this.#known !== null) return null;
    if (call.raw.mcpReq.inputResponses !== undefined || !NO_WORKSPACE.has(asSquadError(failure).code))
      return null;
    if (!(await this.#workspaces.needsRoots(this.#caller))) return null;
    const inputRequests = { [ROOTS_KEY]: { method: 'roots/list' } };
    return { raw: { resultType: 'input_required', inputRequests } as never };
  }

  async #ask(roots: () => Promise<string[]>): Promise<Caller> {
    if (!(await this.#workspaces.needsRoots(this.#caller))) return this.#caller;
    // A client that does not answer has no roots; operations that need a workspace then say how to set it.
    return this.#with(pathsOf(await roots().catch(() => [])));
  }

  #with(roots: string[]): Caller {
    const caller = { ...this.#caller, roots };
    this.#onKnown(caller);
    return caller;
  }
}

const NO_WORKSPACE: ReadonlySet<string> = new Set(['WORKSPACE_UNSET', 'WORKSPACE_REFUSED']);

function rootsIn(response: unknown): string[] {
  const parsed = Roots.safeParse(response);
  return parsed.success ? pathsOf(parsed.data.roots.map(({ uri }) => uri)) : [];
}

/** A root can be any URI; a workspace is a folder. */
function pathsOf(uris: readonly string[]): string[] {
  return uris.flatMap(uri => {
    try {
      return [fileURLToPath(uri)];
    } catch {
      return [];
    }
  });
}
