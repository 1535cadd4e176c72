import { expect, test } from 'vitest';
import { ActivityPace } from './activity.ts';

const text = (words: string) => ({ type: 'text' as const, text: words });

test('the first thing an agent says is an event at once', () => {
  expect(new ActivityPace().take(text('reading'), 0)).toEqual({
    type: 'run.activity',
    kind: 'text',
    text: 'reading',
  });
});

test('a flood becomes a few events a second, and what was passed over is counted', () => {
  const pace = new ActivityPace();
  const taken = Array.from({ length: 1000 }, (_, ms) => pace.take(text(`line ${ms}`), ms)).filter(Boolean);
  expect(taken).toHaveLength(5);
  expect(taken[1]!.text).toBe('line 200 (and 199 more)');
});

test('long words are cut, never inside a character', () => {
  const activity = new ActivityPace().take(text(`${'a'.repeat(299)}😀 and more`), 0)!;
  expect(activity.text.isWellFormed()).toBe(true);
  expect(activity.text.length).toBeLessThanOrEqual(301);
});

test('figures and ends are no activity', () => {
  const pace = new ActivityPace();
  expect(pace.take({ type: 'end', ok: true, answer: '', error: null }, 0)).toBeNull();
  expect(pace.take({ type: 'chat', id: 'x' }, 0)).toBeNull();
});
