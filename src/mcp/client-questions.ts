import { clientForm, formReply } from '../core/inbox/client-form.ts';
import type { Caller } from '../core/ports/workspace.ts';
import type { Call as OperationCall, Services } from '../operations/operation.ts';
import { settledBy } from '../operations/runs/wait.ts';
import { InboxId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { clientOf } from '../wire/face/client-of.ts';
import type { Call, Peer, ToolResult } from '../wire/face/face.ts';

/** Whether there may be a person at this client who can be shown a form. */
export function showsForms({ capabilities }: Call): boolean {
  const { elicitation } = capabilities;
  return (
    elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)
  );
}

/** For clients that are asked while they wait. Null: not this one. */
export function askWhileWaiting(services: Services, call: Call): OperationCall['askPerson'] | null {
  const client = showsForms(call) ? clientOf(call) : null;
  if (client === null) return null;
  return async (item, signal) => {
    // A client that declared it and cannot do it says so by an error: the item is there for others.
    const response = await client
      .ask('elicitation/create', formFor(services, item), signal)
      .catch(() => null);
    return formReply(item, response);
  };
}

/** For clients that are asked by the answer to their call, and call again; `state` comes back with that. */
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

/** Takes what a client was told in answer to those. False: it was shown something and said nothing. */
export async function takeResponses(
  { inbox }: Pick<Services, 'inbox'>,
  { client }: Caller,
  responses: Record<string, unknown>,
): Promise<boolean> {
  let areAllSettled = true;
  for (const [key, response] of Object.entries(responses)) {
    const id = InboxId.safeParse(key);
    const item = id.success ? inbox.open().find(each => each.id === id.data) : undefined;
    // Somebody else was quicker, or it was never asked.
    if (!item) continue;
    const reply = formReply(item, response);
    const isSettled = reply !== null && (await settledBy(inbox, item.id, reply, client));
    if (!isSettled) inbox.notify(item.id, CLOSED);
    areAllSettled &&= isSettled;
  }
  return areAllSettled;
}

/** Whoever was shown a question and closed it is not asked again. */
export const CLOSED = 'closed';

const MAX_NAME_LENGTH = 100;

/** As the client calls itself; never the bare word that stands for the user's own terminal or page. */
export const clientName = ({ client }: Pick<Peer, 'client'>): string | null =>
  client ? `${client.name} ${client.version.trim() || '(no version)'}`.slice(0, MAX_NAME_LENGTH) : null;
