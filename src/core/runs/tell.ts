import type { RunId } from '../../schema/ids.ts';
import type { Store } from '../ports/store.ts';
import type { LiveRun } from './live-run.ts';
import type { RunLedger } from './run-ledger.ts';

/** A message for a running agent. */
export interface Told {
  /** A UUID. An engine uses it to recognise a message that it already has. */
  id: string;
  text: string;
  /** Name of the client that sent the message. */
  by: string | null;
}

export type Waiting = Told & { delivery: 'in_turn' | 'queued' };

/** Maximum number of messages to read. Nobody sends so many during one turn. */
const MAX_MESSAGES = 1_000;

/** Sends the message to the agent, or stores it for the next turn of the run. */
export async function tellRun(
  { run, twoWay, stop }: LiveRun,
  told: Told,
  interrupts: boolean,
  ledger: RunLedger,
): Promise<'in_turn' | 'queued'> {
  const change = (delivery: 'in_turn' | 'queued') => ({
    events: [ledger.event(run, { type: 'run.told', ...told, delivery })],
  });
  const isTaken =
    stop === null && (await twoWay?.say(told.id, told.text, change('in_turn'), interrupts)) === true;
  if (isTaken) return 'in_turn';
  await ledger.commit(change('queued'));
  return 'queued';
}

/**
 * Returns messages that no turn of the run has delivered, oldest first. Reads events back to the start of the current
 * turn.
 */
export async function waitingMessages(
  runId: RunId,
  store: Pick<Store, 'events'>,
  hasTaken: (id: string) => boolean,
): Promise<Waiting[]> {
  const events = await store.events({
    ...{ runId, types: ['run.queued', 'run.told'], limit: MAX_MESSAGES },
    reverse: true,
  });
  const begun = events.findIndex(({ body }) => body.type === 'run.queued');
  return events
    .slice(0, begun === -1 ? events.length : begun)
    .reverse()
    .flatMap(({ body }) =>
      body.type === 'run.told' && (body.delivery === 'queued' || !hasTaken(body.id)) ? body : [],
    );
}

/** Note in the result of a run that ended before its agent got these messages. */
export const undelivered = (count: number): string =>
  `${count === 1 ? 'A message' : `${count} messages`} did not reach the agent, because the run ended first (\`squad events\` has the text).`;
