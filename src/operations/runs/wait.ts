import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { FormReply } from '../../core/inbox/client-form.ts';
import { SquadError } from '../../schema/error.ts';
import type { Event } from '../../schema/event.ts';
import { type InboxId, RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import { isEnd, type Run, type ShownRun, shownRun } from '../../schema/run.ts';
import { limitTime } from '../../schema/run-text.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { findRun } from './find-runs.ts';
import { lastReview } from './run-work.ts';
import { statusCounts } from './status-text.ts';

/**
 * Interval of heartbeats. Clients drop a call that is silent for too long; every tested client keeps waiting with
 * this interval.
 */
const HEARTBEAT_MS = 15_000;

/** Waits for runs to end, with heartbeats, until `ms` have passed (null: no limit) or the caller disconnects. */
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
            await untilEnded(services, run, either);
            if (!either.aborted && runs.length > 1) beat();
          }),
        ),
    );
  } finally {
    if (timer) clearTimeout(timer);
  }
}

/** How often the end of a run of another hub is looked up. */
const LOOK_MS = 500;

async function untilEnded({ runner, store }: Services, run: Run, signal: AbortSignal): Promise<void> {
  await runner.untilEnded(run.id, signal);
  if (isEnd(run.status) || signal.aborted || !(await store.otherOwner(run.id))) return;
  while (!signal.aborted) {
    const row = await store.run(run.id);
    if (!row) return;
    Object.assign(run, row);
    if (isEnd(row.status)) return;
    await pause(LOOK_MS, null, { signal }).catch(() => {}); // the wait is over
  }
}

/**
 * Waits for the answer of one run, with heartbeats, or until the caller disconnects. Returns the current state of the
 * run.
 */
export async function waitForAnswer(call: Call, run: Run): Promise<Run> {
  const wait = () => call.services.runner.untilAnswered(run.id, call.signal);
  return (await withHeartbeat(call, () => statusCounts([run]), wait)) ?? run;
}

/** Sends this text as a heartbeat until the work has finished. */
export async function withHeartbeat<T>(
  { progress }: Pick<Call, 'progress'>,
  text: () => string,
  wait: (beat: () => void) => Promise<T>,
): Promise<T> {
  // The heartbeat is not awaited, because a client that has stopped reading must not delay the result.
  const beat = () => void progress(text()).catch(() => {});
  const heart = setInterval(beat, HEARTBEAT_MS);
  try {
    beat();
    return await wait(beat);
  } finally {
    clearInterval(heart);
  }
}

/** Longest wait in seconds that Squad suggests to a client. */
const MAX_ADVISED_SECONDS = 600;

/** The call with which a client continues to wait, with as many seconds as its own limit allows. */
export function waitingCall(
  id: { spawn_id: string } | { squad_id: string },
  ceilingMs?: number | null,
): string {
  const ceiling = Math.floor((ceilingMs ?? Number.POSITIVE_INFINITY) / 1000);
  const wait_seconds = Math.max(1, Math.min(ceiling, MAX_ADVISED_SECONDS));
  return `Call get_result ${JSON.stringify({ ...id, wait_seconds })} to go on waiting.`;
}

/** Key under which the inbox remembers which questions were shown to a waiting caller. */
export const TOLD_USER = 'user';

/**
 * Waits for runs to end, or for one of them to ask a question: the caller may know the answer, and the run does not
 * continue without it. Each question ends one wait only: a caller who waits again leaves it to somebody else. If the
 * client can ask a person, only an unanswered question ends the wait.
 */
export async function waitForEndsOrAsks(call: Call, runs: Run[], ms: number | null): Promise<void> {
  if (ms === 0) return;
  const { services, caller, signal } = call;
  const { inbox } = services;
  const ids = runs.map(({ id }) => id);
  const over = new AbortController();
  const isNew = (item: InboxItem) => inbox.notify(item.id, caller.parent?.id ?? TOLD_USER);
  const end = (items: readonly InboxItem[]) => {
    call.onAsked?.(items);
    over.abort();
  };
  const check = () => {
    const fresh = inbox.openFor(ids).filter(isNew);
    if (fresh.length > 0 && !call.askPerson) end(fresh);
    else for (const item of fresh) void answeredHere(call, item, over.signal).then(is => is || end([item]));
  };
  const stop = inbox.onAsked(check);
  try {
    check();
    if (!over.signal.aborted)
      await waitForEnds({ ...call, signal: AbortSignal.any([signal, over.signal]) }, runs, ms);
  } finally {
    stop();
    over.abort();
  }
}

/** Whether the question was closed, by the person at this client or by anybody else. */
async function answeredHere(call: Call, { id }: InboxItem, over: AbortSignal): Promise<boolean> {
  const { services, caller, askPerson } = call;
  const { inbox } = services;
  const closed = new AbortController();
  void inbox.untilClosed(id, over).then(item => item && closed.abort());
  const [item] = inbox.open().filter(each => each.id === id);
  if (!item || !askPerson) return true;
  const reply = await askPerson(item, AbortSignal.any([over, closed.signal]));
  if (reply === null) return closed.signal.aborted || over.aborted;
  return settledBy(inbox, id, reply, caller.client).catch(() => false);
}

/** Asks the person at the client. Returns whether the item is closed afterwards. */
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

/** Maximum number of named runs, because results have a size limit. */
const MAX_NAMED = 3;

/** Describes which reviews these runs wait for. */
export async function waitingFor(
  services: Pick<Services, 'store' | 'reviews'>,
  runs: readonly Run[],
): Promise<string[]> {
  const waiting = runs.filter(({ status }) => status === 'waiting_review').slice(0, MAX_NAMED);
  const limited = runs.filter(({ status }) => status === 'waiting_limit').slice(0, MAX_NAMED);
  return [
    ...limited.map(describeLimit),
    ...(await Promise.all(waiting.map(run => describeReview(services, run)))),
  ];
}

const describeLimit = ({ id, engine, options }: Run): string =>
  `${id} waits for the usage limit of ${engine} until ${limitTime(options.limit?.until ?? 0)}.`;

async function describeReview(
  { store, reviews }: Pick<Services, 'store' | 'reviews'>,
  run: Run,
): Promise<string> {
  const last = await lastReview(store, run);
  if (!last) return `${run.id} waits for a review.`;
  const { max } = await reviews.rounds(run.lineageId);
  return last.outcome === null
    ? `${run.id} waits for review ${last.iteration} of ${max} by ${last.reviewerId}.`
    : `Review ${last.iteration} of ${max} of ${run.id} is over (${last.outcome}); it goes on when its turn has ended.`;
}

/** A run that has ended, and its end event if it is still stored. */
export interface EndedRun {
  run: ShownRun;
  event: Event | null;
}

/**
 * Reports each of these runs when it ends, starting with those that have already ended. With `any` only the first.
 */
export const waitForRuns = operation({
  name: 'wait_for_runs',
  route: 'POST /wait',
  agents: 'spawn',
  input: z.strictObject({ runs: z.array(RunId).min(1), any: z.boolean().default(false) }),
  output: z.object({ open: z.array(RunId) }),
  async run({ services, signal, waitMs, emit }, { runs: ids, any }) {
    const runs = await Promise.all(ids.map(id => findRun(services, id, 'any')));
    const open = new Set(ids);
    const enough = new AbortController();
    const timeUp = waitMs === null ? [] : [AbortSignal.timeout(waitMs)];
    const over = AbortSignal.any([signal, enough.signal, ...timeUp]);

    const tell = async ({ id }: Run) => {
      const [event = null] = await services.store.events({ runId: id, types: ['run.ended'], limit: 1 });
      const run = shownRun(await findRun(services, id, 'any'));
      if (enough.signal.aborted) return;
      open.delete(id);
      emit({ run, event } satisfies EndedRun);
      if (any) enough.abort();
    };
    const ended = runs.filter(run => isEnd(run.status));
    for (const run of ended.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))) await tell(run);
    await Promise.all(
      runs.map(async run => {
        if (!open.has(run.id) || over.aborted) return;
        await untilEnded(services, run, over);
        if (!over.aborted) await tell(run);
      }),
    );
    return { open: [...open] };
  },
});
