import { clientForm, saidInForm } from '../core/inbox/client-form.ts';
import type { Caller } from '../core/ports/workspace.ts';
import type { Services } from '../operations/operation.ts';
import { SquadError } from '../schema/error.ts';
import { InboxId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { clientOf } from '../wire/client-of.ts';
import type { Call, ToolResult } from '../wire/face.ts';

/** Whether there may be a person at this client who can be shown a form. */
export function showsForms({ capabilities }: Call): boolean {
  const { elicitation } = capabilities;
  return (
    elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)
  );
}

/** For clients that are asked while they wait. Null: not this one. */
export function askWhileWaiting(
  call: Call,
): ((item: InboxItem, signal: AbortSignal) => Promise<string | null>) | null {
  const client = showsForms(call) ? clientOf(call) : null;
  if (client === null) return null;
  return async (item, signal) => {
    // A client that declared it and cannot do it says so by an error: the item is there for others.
    const response = await client.ask('elicitation/create', clientForm(item), signal).catch(() => null);
    return saidInForm(item, response);
  };
}

/** For clients that are asked by the answer to their call, and call again; `state` comes back with that. */
export const inputRequired = (items: readonly InboxItem[], state: string | null): ToolResult => ({
  raw: {
    resultType: 'input_required',
    inputRequests: requestsFor(items),
    ...(state !== null && { requestState: state }),
  } as never,
});

export const requestsFor = (items: readonly InboxItem[]): Record<string, unknown> =>
  Object.fromEntries(
    items.map(item => [item.id, { method: 'elicitation/create', params: clientForm(item) }]),
  );

/** Takes what a client was told in answer to those. False: it was shown something and said nothing. */
export async function takeResponses(
  { inbox }: Pick<Services, 'inbox'>,
  { client }: Caller,
  responses: Record<string, unknown>,
): Promise<boolean> {
  let areAllGiven = true;
  for (const [key, response] of Object.entries(responses)) {
    const id = InboxId.safeParse(key);
    const item = id.success ? inbox.open().find(each => each.id === id.data) : undefined;
    // Somebody else was quicker, or it was never asked.
    if (!item) continue;
    const said = saidInForm(item, response);
    const isGiven = said !== null && (await given(inbox, item, said, client));
    if (!isGiven) inbox.tell(item.id, DECLINED);
    areAllGiven &&= isGiven;
  }
  return areAllGiven;
}

/** Whoever was asked and would not answer is not asked again. */
export const DECLINED = 'declined';

async function given(
  inbox: Services['inbox'],
  { id }: InboxItem,
  said: string,
  client: string | null,
): Promise<boolean> {
  try {
    await inbox.answer(id, said, { who: 'user', via: client });
    return true;
  } catch (thrown) {
    if (thrown instanceof SquadError) return thrown.code === 'ALREADY_ANSWERED';
    throw thrown;
  }
}
