import { describe, expect, test } from 'vitest';
import { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { openForTest } from '../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { tempDatabase } from '../../store/fixtures/temp-database.ts';
import type { Store } from '../ports/store.ts';
import { formOf } from './elicitation.ts';
import { Inbox } from './inbox.ts';

const squad = aSquad();
const lead = aRun(squad, { status: 'running' });
const child = aRun(squad, { status: 'running', position: 1, parentId: lead.id, depth: 2 });
const BY = { who: 'user', via: 'terminal' } as const;
const never = new AbortController().signal;

/** A real store and an inbox on it; runs are there until they are taken away. */
async function setUp() {
  const real = await openForTest(await tempDatabase());
  await real.commit({ squads: [squad], runs: [lead, child], events: [] });
  const live = new Map<RunId, Run>([lead, child].map(run => [run.id, run]));
  const faults = { refuses: false };
  /** `setBy`: how far the clock was set meanwhile. */
  const time = { now: Date.now(), setBy: 0 };
  const store: Store = {
    ...real,
    commit: change =>
      faults.refuses ? Promise.reject(new SquadError('DATABASE_FAILED', 'no')) : real.commit(change),
  };
  const open = () =>
    new Inbox({
      store,
      clock: { now: () => time.now, monotonic: () => time.now - time.setBy },
      timeLeft: () => null,
      settings: () => HubSettings.parse({}),
      current: id => live.get(id) ?? null,
      warn: () => {},
      checkpoint: () => {},
    });
  const end = (run: Run) => {
    live.delete(run.id);
    const body = {
      type: 'run.ended' as const,
      ...{
        status: 'completed' as const,
        exitCode: 0,
        error: null,
        usage: null,
        leftovers: [],
        durationMs: 1,
      },
    };
    return real.commit({ events: [{ at: 1, runId: run.id, squadId: squad.id, body }] });
  };
  return { inbox: open(), open, live, faults, store, end, time };
}

test('an answer that cannot be written down is no answer: the question stays open, and can be answered again', async () => {
  const { inbox, faults } = await setUp();
  const { id } = await inbox.ask({ run: child, kind: 'approval', question: 'May I?' });
  const settled = inbox.untilClosed(id, never);
  faults.refuses = true;
  await expect(inbox.answer(id, 'yes', BY)).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
  expect(inbox.openOf(child.id)).toHaveLength(1);
  faults.refuses = false;
  await inbox.answer(id, 'no', BY);
  expect(await settled).toMatchObject({ state: 'answered', answer: 'no' });
  expect(inbox.open()).toEqual([]);
});

test('declining is an end of a question, and a no to what takes one; the first is heard', async () => {
  const { inbox } = await setUp();
  const question = await inbox.ask({ run: child, kind: 'question', question: 'Well?', default: 'so' });
  const approval = await inbox.ask({ run: child, kind: 'approval', question: 'May I?' });
  const { fields } = formOf({ message: 'x', requestedSchema: { properties: { a: { type: 'number' } } } })!;
  const form = await inbox.ask({ run: child, kind: 'question', question: 'How many?', fields });
  expect(await inbox.decline(question.id, BY)).toMatchObject({ state: 'declined', answer: null });
  for (const { id } of [approval, form])
    expect(await inbox.decline(id, BY)).toMatchObject({ state: 'answered', answer: 'no', answeredBy: BY });
  await expect(inbox.answer(question.id, 'late', BY)).rejects.toMatchObject({
    code: 'ALREADY_ANSWERED',
    message: expect.stringContaining('was declined by the user (terminal)'),
  });
});

test('a question that cannot be written down was never asked', async () => {
  const { inbox, faults } = await setUp();
  faults.refuses = true;
  await expect(inbox.ask({ run: child, kind: 'question', question: 'Well?' })).rejects.toThrow();
  expect(inbox.open()).toEqual([]);
});

test('a question that cannot be asked is refused by its promise, like every other refusal', async () => {
  const { inbox } = await setUp();
  const refused = inbox.ask({ run: child, kind: 'question', question: ' ' });
  await expect(refused).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('a run that ends while its question is written down has none open afterwards', async () => {
  const { inbox, live, store } = await setUp();
  const asking = inbox.ask({ run: child, kind: 'question', question: 'Well?' });
  live.delete(child.id);
  const { id } = await asking;
  expect(await inbox.untilClosed(id, never)).toMatchObject({ state: 'withdrawn' });
  expect(await store.inboxItem(id)).toMatchObject({ state: 'withdrawn', answer: null, answeredBy: null });
});

test('the question to a lead is listed with the runs it started, and goes to the user when the lead ends', async () => {
  const { inbox, end } = await setUp();
  const told: string[] = [];
  inbox.onAsked(({ owner }) => told.push(owner));
  const { id, owner } = await inbox.ask({ run: child, kind: 'question', question: 'Well?', to: 'lead' });
  expect(owner).toBe(lead.id);
  expect(inbox.openFor([lead.id], lead.id)).toMatchObject([{ id }]);
  expect(inbox.openFor([lead.id])).toEqual([]);
  await end(lead);
  await inbox.close();
  expect(inbox.openFor([child.id])).toMatchObject([{ id, owner: 'user' }]);
  expect(told).toEqual([lead.id, 'user']);
});

test('a run that nobody started asks the user, whomever it wanted', async () => {
  const { inbox } = await setUp();
  const ask = { kind: 'question' as const, question: 'Well?', to: 'lead' as const };
  expect(await inbox.ask({ run: lead, ...ask })).toMatchObject({ owner: 'user' });
  expect(await inbox.ask({ run: { ...child, reviewOf: lead.id }, ...ask })).toMatchObject({ owner: 'user' });
});

test('the next hub keeps open questions, and closes those that nobody waits for any more', async () => {
  const { inbox, open, live, time } = await setUp();
  const ask = { run: child, kind: 'question' as const };
  const kept = await inbox.ask({ ...ask, question: 'Kept?' });
  const due = await inbox.ask({ ...ask, question: 'Due?', minutes: 0.0001, default: 'yes' });
  const ofServer = await inbox.ask({ ...ask, question: 'A server’s?', source: 'desk' });
  const ofGone = await inbox.ask({ run: lead, kind: 'question', question: 'Of one that is gone?' });
  await inbox.close();
  live.delete(lead.id);
  time.now += 6;

  const next = open();
  await next.recover();
  expect(await next.untilClosed(due.id, never)).toMatchObject({ state: 'expired', answer: 'yes' });
  expect(next.open()).toMatchObject([{ id: kept.id, deadlineAt: kept.deadlineAt }]);
  for (const [{ id }, withdrawnBecause] of [
    [ofServer, 'hub_ended'],
    [ofGone, 'run_ended'],
  ] as const)
    expect(await next.untilClosed(id, never)).toMatchObject({ state: 'withdrawn', withdrawnBecause });
  expect(await next.ask({ ...ask, question: 'Kept?' })).toMatchObject({ id: kept.id });
});

test('an answer that was not delivered is the answer to the same question, once', async () => {
  const { inbox, store } = await setUp();
  const ask = { run: child, kind: 'question' as const, question: 'Again?' };
  const { id } = await inbox.ask(ask);
  await inbox.answer(id, 'yes', BY);
  const again = await inbox.ask(ask);
  expect(again).toMatchObject({ id, answer: 'yes' });
  inbox.deliver(again);
  await inbox.markResumed(child.id);
  expect(await store.inboxItem(id)).toMatchObject({ heardAt: expect.any(Number) });
  expect(await inbox.ask(ask)).toMatchObject({ state: 'open', answer: null });
  // A question of a server belongs to one call: the same question in another call is a new item.
  const ofServer = { ...ask, source: 'desk' };
  const [one, other] = [await inbox.ask(ofServer), await inbox.ask(ofServer)];
  expect(one.id).not.toBe(other.id);
});

describe('a hub that dies with an answer on its way', () => {
  const ask = { run: child, kind: 'question' as const, question: 'Which?' };

  test('is followed by one that still has it for who asks again', async () => {
    const { inbox, open } = await setUp();
    const { id } = await inbox.ask(ask);
    inbox.deliver(await inbox.answer(id, 'this', BY));
    const next = open();
    await next.recover();
    expect(await next.ask(ask)).toMatchObject({ id, answer: 'this' });
  });

  test('and had just seen the run do something else: the same words mean that question, once', async () => {
    const { inbox, open, time } = await setUp();
    const { id } = await inbox.ask(ask);
    inbox.deliver(await inbox.answer(id, 'this', BY));
    await inbox.markResumed(child.id);
    time.now += 1_000;
    const next = open();
    const again = await next.ask(ask);
    expect(again).toMatchObject({ id, answer: 'this' });
    next.deliver(again);
    time.now += 1_000;
    await next.markResumed(child.id);
    expect(await next.ask(ask)).toMatchObject({ state: 'open' });
  });

  test('long ago: the same words are a new question', async () => {
    const { inbox, open, time } = await setUp();
    const { id } = await inbox.ask(ask);
    inbox.deliver(await inbox.answer(id, 'this', BY));
    await inbox.markResumed(child.id);
    time.now += 121_000;
    expect(await open().ask(ask)).toMatchObject({ state: 'open' });
  });

  test('a run that ended well has heard its answers', async () => {
    const { inbox, store, end } = await setUp();
    const { id } = await inbox.ask(ask);
    inbox.deliver(await inbox.answer(id, 'this', BY));
    expect(await store.inboxItem(id)).toMatchObject({ heardAt: null });
    await end(child);
    await expect.poll(async () => (await store.inboxItem(id))?.heardAt).toEqual(expect.any(Number));
  });
});

test.each(['approval', 'permission'] as const)('no caller approves its own request: %s', async kind => {
  const { inbox } = await setUp();
  const ask = { run: child, kind, question: 'May I?' };
  for (const yes of ['yes', 'Y', '1'])
    await expect(inbox.ask({ ...ask, default: yes })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(await inbox.ask({ ...ask, default: 'deny' })).toMatchObject({ default: 'no' });
});

test('the default of a question with choices is one of them', async () => {
  const { inbox } = await setUp();
  const ask = { run: child, kind: 'question' as const, question: 'Which?', choices: ['a', 'b'] };
  await expect(inbox.ask({ ...ask, default: 'c' })).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  expect(await inbox.ask({ ...ask, default: 'B' })).toMatchObject({ default: 'b' });
});

test('choices that look alike are not different', async () => {
  const { inbox } = await setUp();
  const ask = { run: child, kind: 'question' as const, question: 'Which?' };
  for (const choices of [
    ['keep', 'Keep '],
    ['a b', 'a\nb'],
    ['keep\u200b', 'keep\u2060'],
  ])
    await expect(inbox.ask({ ...ask, choices })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('an answer that comes after the deadline is too late, whatever the alarm says', async () => {
  const { inbox, time, store } = await setUp();
  const { id } = await inbox.ask({ run: child, kind: 'approval', question: 'May I?' });
  time.now += 61 * 60_000;
  await expect(inbox.answer(id, 'yes', BY)).rejects.toMatchObject({ code: 'ALREADY_ANSWERED' });
  expect(await store.inboxItem(id)).toMatchObject({ state: 'expired', answer: 'no' });
  expect(inbox.open()).toEqual([]);
});

test('each waiting caller is notified of a question once', async () => {
  const { inbox } = await setUp();
  const { id } = await inbox.ask({ run: child, kind: 'question', question: 'Well?' });
  expect([inbox.notify(id, 'user'), inbox.notify(id, 'user'), inbox.notify(id, lead.id)]).toEqual([
    true,
    false,
    true,
  ]);
  await inbox.answer(id, 'yes', BY);
  expect(inbox.notify(id, child.id)).toBe(false);
});

test.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])(
  'a clock that is set an hour %s neither expires a question nor keeps it open for longer',
  { tags: ['R23'] },
  async (_, by) => {
    const { inbox, time } = await setUp();
    const ask = { run: child, kind: 'approval' as const };
    const [early, late] = [
      await inbox.ask({ ...ask, question: 'Now?' }),
      await inbox.ask({ ...ask, question: 'Later?' }),
    ];
    time.now += by;
    time.setBy += by;
    expect(await inbox.answer(early.id, 'yes', BY)).toMatchObject({ state: 'answered', answer: 'yes' });
    time.now += 61 * 60_000;
    await expect(inbox.answer(late.id, 'yes', BY)).rejects.toMatchObject({ code: 'ALREADY_ANSWERED' });
  },
);
