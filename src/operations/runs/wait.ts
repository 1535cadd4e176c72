import type { FormReply } from '../../core/inbox/client-form.ts';
import { SquadError } from '../../schema/error.ts';
import type { InboxId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { Call, Services } from '../operation.ts';
import { statusCounts } from './status-text.ts';

/** Clients drop a call that is silent for too long; every one measured stays with a sign of life this often. */
const HEARTBEAT_MS = 15_000;

/** Waits for runs to end, giving signs of life, until `ms` are over (null: for ever) or the caller goes away. */
export async function waitForEnds(call: Call, runs: Run[], ms: number | null): Promise<void> {
  const { services, signal } = call;
  const open = runs.filter(run => !isEnd(run.status));
  if (open.length === 0 || ms === 0) return;
  const timeUp = new AbortController();
  const timer = ms === null ? null : setTimeout(() => timeUp.abort(), ms);
  const either = AbortSignal.any([signal, timeUp.signal]);
  try {
    await withHeartbeat(
      call,
      () => statusCounts(runs),
      beat =>
        Promise.all(
          open.map(async run => {
            await services.runner.untilEnded(run.id, either);
            if (!either.aborted && runs.length > 1) beat();
          }),
        ),
    );
  } finally {
    if (timer) clearTimeout(timer);
  }
}

/** Waits for the answer of one run, giving signs of life, or until the caller goes away: the run as it is then. */
export async function waitForAnswer(call: Call, run: Run): Promise<Run> {
  const wait = () => call.services.runner.untilAnswered(run.id, call.signal);
  return (await withHeartbeat(call, () => statusCounts([run]), wait)) ?? run;
}

/** Gives signs of life, in these words, for as long as something is waited for. */
export async function withHeartbeat<T>(
  { progress }: Pick<Call, 'progress'>,
  words: () => string,
  wait: (beat: () => void) => Promise<T>,
): Promise<T> {
  // Never waited for: a client that has stopped reading must not keep a result from being made.
  const beat = () => void progress(words()).catch(() => {});
  const heart = setInterval(beat, HEARTBEAT_MS);
  try {
    beat();
    return await wait(beat);
  } finally {
    clearInterval(heart);
  }
}

/** Nobody is advised to sit through more of a wait than this. */
const MAX_ADVISED_SECONDS = 600;

/** How to go on waiting, with as many seconds as the client's own limit allows. */
export function waitingCall(
  id: { spawn_id: string } | { squad_id: string },
  ceilingMs?: number | null,
): string {
  const ceiling = Math.floor((ceilingMs ?? Number.POSITIVE_INFINITY) / 1000);
  const wait_seconds = Math.max(1, Math.min(ceiling, MAX_ADVISED_SECONDS));
  return `Call get_result ${JSON.stringify({ ...id, wait_seconds })} to go on waiting.`;
}

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
  const isNews = (item: InboxItem) => inbox.notify(item.id, caller.parent?.id ?? TOLD_USER);
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
  void inbox.untilClosed(id, over).then(item => item && settled.abort());
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

/** Results have a size to keep. */
const MAX_NAMED = 3;
const MAX_ROUNDS = 10_000;

/** What runs wait for that have asked for a review, in words. */
export async function waitingFor(
  services: Pick<Services, 'store' | 'reviews'>,
  runs: readonly Run[],
): Promise<string[]> {
  const waiting = runs.filter(({ status }) => status === 'waiting_review').slice(0, MAX_NAMED);
  return Promise.all(waiting.map(run => wordsFor(services, run)));
}

async function wordsFor({ store, reviews }: Pick<Services, 'store' | 'reviews'>, run: Run): Promise<string> {
  const last = (await store.reviews({ coderId: run.id, limit: MAX_ROUNDS })).at(-1);
  if (!last) return `${run.id} waits for a review.`;
  const { max } = await reviews.rounds(run.lineageId);
  return last.outcome === null
    ? `${run.id} waits for review ${last.iteration} of ${max} by ${last.reviewerId}.`
    : `Review ${last.iteration} of ${max} of ${run.id} is over (${last.outcome}); it goes on when its turn has ended.`;
}
