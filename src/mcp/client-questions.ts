import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { clientForm, formReply } from '../core/inbox/client-form.ts';
import type { Caller, Workspaces } from '../core/ports/workspace.ts';
import type { Call as OperationCall, Services } from '../operations/operation.ts';
import { settledBy } from '../operations/runs/wait.ts';
import { asSquadError } from '../schema/error.ts';
import { InboxId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { clientOf } from '../wire/face/client-of.ts';
import type { Call, Peer, ToolResult } from '../wire/face/face.ts';

/** Whether this client can show a form to a person. */
export function showsForms({ capabilities }: Call): boolean {
  const { elicitation } = capabilities;
  return (
    elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)
  );
}

/** Asks a person at the client while its call waits. Null when the client cannot do that. */
export function askWhileWaiting(services: Services, call: Call): OperationCall['askPerson'] | null {
  const client = showsForms(call) ? clientOf(call) : null;
  if (client === null) return null;
  return async (item, signal) => {
    // A client that cannot show the form answers with an error. Then others can still answer the item.
    const response = await client
      .ask('elicitation/create', formFor(services, item), signal)
      .catch(() => null);
    return formReply(item, response);
  };
}

/** Result that asks a modern client to show a form. The client repeats the call with its answers and `state`. */
export const inputRequired = (
  services: Services,
  items: readonly InboxItem[],
  state: string | null,
): ToolResult => ({
  raw: {
    resultType: 'input_required',
    inputRequests: requestsFor(services, items),
    ...(state !== null && { requestState: state }),
  } as never,
});

export const requestsFor = (services: Services, items: readonly InboxItem[]): Record<string, unknown> =>
  Object.fromEntries(
    items.map(item => [item.id, { method: 'elicitation/create', params: formFor(services, item) }]),
  );

const formFor = ({ runner }: Services, item: InboxItem) => clientForm(item, runner.current(item.runId));

/** Stores a client's answers. False when a form was closed without an answer. */
export async function takeResponses(
  { inbox }: Pick<Services, 'inbox'>,
  { client }: Caller,
  responses: Record<string, unknown>,
): Promise<boolean> {
  let areAllAnswered = true;
  for (const [key, response] of Object.entries(responses)) {
    const id = InboxId.safeParse(key);
    const item = id.success ? inbox.open().find(each => each.id === id.data) : undefined;
    // Somebody else has already answered the question, or it was never asked.
    if (!item) continue;
    const reply = formReply(item, response);
    const isAnswered = reply !== null && (await settledBy(inbox, item.id, reply, client));
    if (!isAnswered) inbox.notify(item.id, CLOSED);
    areAllAnswered &&= isAnswered;
  }
  return areAllAnswered;
}

/** Reply key for a question whose form was closed. The client is not asked that question again. */
export const CLOSED = 'closed';

const MAX_NAME_LENGTH = 100;

/** The client's own name with its version, so that it never equals a reserved name such as `terminal` or `page`. */
export const clientName = ({ client }: Pick<Peer, 'client'>): string | null =>
  client ? `${client.name} ${client.version.trim() || '(no version)'}`.slice(0, MAX_NAME_LENGTH) : null;

/** Key of the roots in a modern client's reply. */
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

  /** Returns the answer that asks a modern client for its roots, if the call failed because no workspace was set. */
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
    // A client that does not answer counts as having no roots; operations that need a workspace then say how to set it.
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
