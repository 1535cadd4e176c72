import { clientForm, formReply } from '../core/inbox/client-form.ts';
import type { Caller } from '../core/ports/workspace.ts';
import type { Call as OperationCall, Services } from '../operations/operation.ts';
import { settledBy } from '../operations/runs/wait.ts';
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
    // A client that cannot show the form answers with an error; then others can answer the item.
    const response = await client
      .ask('elicitation/create', formFor(services, item), signal)
      .catch(() => null);
    return formReply(item, response);
  };
}

/** Asks a modern client by the answer to its call. The client calls again with its answers and `state`. */
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
    // Already answered by somebody else, or never asked.
    if (!item) continue;
    const reply = formReply(item, response);
    const isAnswered = reply !== null && (await settledBy(inbox, item.id, reply, client));
    if (!isAnswered) inbox.notify(item.id, CLOSED);
    areAllAnswered &&= isAnswered;
  }
  return areAllAnswered;
}

/** Marks a question whose form was closed: that client is not asked again. */
export const CLOSED = 'closed';

const MAX_NAME_LENGTH = 100;

/** The client's own name, with its version, so that it is never just `terminal` or `page`. */
export const clientName = ({ client }: Pick<Peer, 'client'>): string | null =>
  client ? `${client.name} ${client.version.trim() || '(no version)'}`.slice(0, MAX_NAME_LENGTH) : null;
