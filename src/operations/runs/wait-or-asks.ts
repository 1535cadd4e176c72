import type { FormReply } from '../../core/inbox/client-form.ts';
import { SquadError } from '../../schema/error.ts';
import type { InboxId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import type { Call, Services } from '../operation.ts';
import { waitForEnds } from './wait.ts';

/** Under this key the inbox remembers which questions whoever waits has been told. */
export const TOLD_USER = 'user';

/**
 * Waits for runs to end, or for one of them to ask something of whoever waits: the answer may well be theirs, and the run goes
 * no further without. Each question ends one wait: who then waits on has left it to somebody else. Where the client can put it
 * to a person meanwhile, only what that person does not answer ends it.
 */
export async function waitForEndsOrAsks(call: Call, runs: Run[], ms: number | null): Promise<void> {
  if (ms === 0) return;
  const { services, caller, signal } = call;
  const { inbox } = services;
  const ids = runs.map(({ id }) => id);
  const over = new AbortController();
  const isNews = (item: InboxItem) => inbox.tell(item.id, caller.parent?.id ?? TOLD_USER);
  const end = (items: readonly InboxItem[]) => {
    call.onAsked?.(items);
    over.abort();
  };
  const look = () => {
    const news = inbox.openFor(ids).filter(isNews);
    if (news.length > 0 && !call.askPerson) end(news);
    else for (const item of news) void answeredHere(call, item, over.signal).then(is => is || end([item]));
  };
  const stop = inbox.onAsked(look);
  try {
    look();
    if (!over.signal.aborted)
      await waitForEnds({ ...call, signal: AbortSignal.any([signal, over.signal]) }, runs, ms);
  } finally {
    stop();
    over.abort();
  }
}

/** Whether the question is settled, by the person at this client or by anybody else. */
async function answeredHere(call: Call, { id }: InboxItem, over: AbortSignal): Promise<boolean> {
  const { services, caller, askPerson } = call;
  const { inbox } = services;
  const settled = new AbortController();
  void inbox.untilSettled(id, over).then(item => item && settled.abort());
  const [item] = inbox.open().filter(each => each.id === id);
  if (!item || !askPerson) return true;
  const reply = await askPerson(item, AbortSignal.any([over, settled.signal]));
  if (reply === null) return settled.signal.aborted || over.aborted;
  return settledBy(inbox, id, reply, caller.client).catch(() => false);
}

/** Whether the item is settled after what the person at a client said. */
export async function settledBy(
  inbox: Services['inbox'],
  id: InboxId,
  reply: NonNullable<FormReply>,
  client: string | null,
): Promise<boolean> {
  const by = { who: 'user' as const, via: client };
  try {
    await (reply === 'declined' ? inbox.decline(id, by) : inbox.answer(id, reply.answer, by));
    return true;
  } catch (thrown) {
    if (thrown instanceof SquadError) return thrown.code === 'ALREADY_ANSWERED';
    throw thrown;
  }
}
