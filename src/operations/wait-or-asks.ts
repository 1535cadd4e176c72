import type { InboxItem } from '../schema/inbox.ts';
import type { Run } from '../schema/run.ts';
import type { Call } from './operation.ts';
import { waitForEnds } from './wait.ts';

/**
 * Waits for runs to end, or for one of them to ask something of whoever waits: the answer may well be theirs, and the run goes
 * no further without. Each question ends one wait: who then waits on has left it to somebody else.
 */
export async function waitForEndsOrAsks(call: Call, runs: Run[], ms: number | null): Promise<void> {
  if (ms === 0) return;
  const { services, caller, signal } = call;
  const { inbox } = services;
  const ids = runs.map(({ id }) => id);
  const asked = new AbortController();
  const isNews = (item: InboxItem) => inbox.tell(item.id, caller.parent?.id ?? 'user');
  const look = () => {
    if (inbox.openFor(ids).filter(isNews).length > 0) asked.abort();
  };
  const stop = inbox.onAsked(look);
  try {
    look();
    if (!asked.signal.aborted)
      await waitForEnds({ ...call, signal: AbortSignal.any([signal, asked.signal]) }, runs, ms);
  } finally {
    stop();
  }
}
