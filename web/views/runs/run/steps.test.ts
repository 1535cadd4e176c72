import { describe, expect, test } from 'vitest';
import type { Event, EventBody } from '../../../../src/schema/event.ts';
import { stepsOf } from './steps.ts';

let seq = 0;
const event = (body: unknown): Event => ({
  seq: ++seq,
  at: seq * 1000,
  runId: null,
  squadId: null,
  body: body as EventBody,
});
const activity = (kind: string, text: string) => event({ type: 'run.activity', kind, text });
const item = (id: string, state: string, answer: string | null = null) => ({
  id,
  state,
  answer,
  question: 'Go?',
});

describe('steps', () => {
  test('fold tools that follow each other, and count those that are the same', () => {
    const steps = stepsOf([
      activity('tool', 'Read a'),
      activity('tool', 'Read a'),
      activity('tool', 'Edit b'),
      activity('text', 'Done with b'),
      activity('tool', 'Read c'),
    ]);
    expect(steps.map(({ kind }) => kind)).toEqual(['tools', 'said', 'tools']);
    expect(steps[0]).toMatchObject({
      texts: [
        { text: 'Read a', count: 2 },
        { text: 'Edit b', count: 1 },
      ],
    });
  });

  test('say how many came too fast to be listed, before the one that was', () => {
    const steps = stepsOf([
      event({ type: 'run.activity', kind: 'text', text: 'Done', skipped: 7 }),
      activity('tool', 'Read a'),
    ]);
    expect(steps).toMatchObject([
      { kind: 'notes', texts: [{ text: '7 more, not listed because they came too fast' }] },
      { kind: 'said', text: 'Done' },
      { kind: 'tools' },
    ]);
    expect(new Set(steps.map(({ key }) => key)).size).toBe(3);
  });

  test('say the same words once', () => {
    const steps = stepsOf([activity('text', 'hm'), activity('text', 'hm'), activity('text', 'ha')]);
    expect(steps).toMatchObject([
      { text: 'hm', count: 2 },
      { text: 'ha', count: 1 },
    ]);
  });

  test('have a question once, with its answer', () => {
    const steps = stepsOf([
      event({ type: 'inbox.asked', item: item('ask_1', 'open') }),
      activity('note', 'waits'),
      event({ type: 'inbox.settled', item: item('ask_1', 'answered', 'yes') }),
    ]);
    expect(steps.map(({ kind }) => kind)).toEqual(['question', 'notes']);
    expect(steps[0]).toMatchObject({ item: { state: 'answered', answer: 'yes' } });
  });

  test('have a review once, with how it ended, also where its beginning is not known', () => {
    const closed = {
      type: 'review.closed',
      reviewerId: 'run_2',
      iteration: 1,
      outcome: 'approved',
      reason: null,
    };
    const both = stepsOf([
      event({ type: 'review.requested', reviewId: 'r1', reviewerId: 'run_2', iteration: 1, commit: 'abc' }),
      event({ ...closed, reviewId: 'r1' }),
    ]);
    expect(both).toMatchObject([{ kind: 'review', outcome: 'approved', reviewerId: 'run_2' }]);
    expect(stepsOf([event({ ...closed, reviewId: 'r9' })])).toMatchObject([{ outcome: 'approved' }]);
  });

  test('tell a bad end from a good one', () => {
    const ended = { type: 'run.ended', exitCode: 1, usage: null, leftovers: [], durationMs: 1 };
    const bad = event({ ...ended, status: 'error', error: { code: 'X', message: 'broke' } });
    expect(stepsOf([bad])).toMatchObject([
      { kind: 'mark', tone: 'bad', text: expect.stringContaining('broke') },
    ]);
    expect(stepsOf([event({ ...ended, status: 'completed', error: null })])).toMatchObject([
      { tone: 'good' },
    ]);
  });
});
