import { SquadError } from '../schema/error.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Run } from '../schema/run.ts';
import type { Call } from './operation.ts';
import { waitForEnds } from './wait.ts';

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
  const isNews = (item: InboxItem) => inbox.tell(item.id, caller.parent?.id ?? 'user');
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
  const said = await askPerson(item, AbortSignal.any([over, settled.signal]));
  if (said === null) return settled.signal.aborted || over.aborted;
  try {
    await inbox.answer(id, said, { who: 'user', via: caller.client });
    return true;
  } catch (thrown) {
    return thrown instanceof SquadError && thrown.code === 'ALREADY_ANSWERED';
  }
}
