import { expect, test } from 'vitest';
import type { Event, EventBody } from '../../schema/event.ts';
import type { RunId, SquadId } from '../../schema/ids.ts';
import type { HubClient } from '../hub-client.ts';
import { readWatchStart } from './watch.ts';

const id = (number: number) => `run_000000000${number}` as RunId;
const event = (runId: RunId | null, body: object): Event => ({
  ...{ seq: 11, at: 0, runId, squadId: null },
  body: body as EventBody,
});
const run = (number: number, status: string, turn = 1) => ({
  id: id(number),
  status,
  turn,
  createdAt: number,
});
const item = (number: number, owner: string) => ({
  id: `ask_000000000${number}`,
  runId: id(number),
  squadId: 'squad_0000000000' as SquadId,
  owner,
});

/** A hub that gives these answers. */
const hub = (answers: Record<string, unknown>) =>
  ({ call: async (operation: string) => answers[operation] }) as unknown as HubClient;

test('runs are in the order of their start, with their questions for the user only', async () => {
  const { runs, asks, last } = await readWatchStart(
    hub({
      list_board: { runs: [run(3, 'running'), run(1, 'running')], last: 10 },
      list_inbox: { items: [item(1, 'user'), item(3, id(1)), item(7, 'user')] },
    }),
    [],
    '/work',
  );
  expect(runs.map(each => each.id)).toEqual([id(1), id(3)]);
  expect(asks.map(each => each.id)).toEqual(['ask_0000000001']);
  expect(last).toBe(10);
});

test('events that the start already includes are recognised', async () => {
  const { includes, knows, hadEnded } = await readWatchStart(
    hub({
      list_board: { runs: [], last: 10 },
      find_runs: { runs: [run(1, 'running', 2), run(2, 'completed'), run(3, 'queued')] },
      list_inbox: { items: [item(1, 'user')] },
    }),
    [id(1), id(2), id(3)],
    undefined,
  );
  const started = (number: number, turn: number) => event(id(number), { type: 'run.started', turn });
  expect([started(1, 1), started(1, 2), started(1, 3), started(3, 1)].map(includes)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  const ended = (number: number) => event(id(number), { type: 'run.ended' });
  expect([ended(1), ended(2)].map(includes)).toEqual([false, true]);
  const asked = (number: number) => event(id(1), { type: 'inbox.asked', item: item(number, 'user') });
  expect([asked(1), asked(2)].map(includes)).toEqual([true, false]);
  expect([id(1), id(2)].map(hadEnded)).toEqual([false, true]);
  expect([id(1), id(9)].map(knows)).toEqual([true, false]);
  expect(includes(event(null, { type: 'hub.stopped' }))).toBe(false);
});
