import type { Run } from '../../schema/run.ts';
import { isEnd } from '../../schema/run.ts';
import type { Call } from '../operation.ts';
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
