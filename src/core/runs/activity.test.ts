import { expect, test } from 'vitest';
import { ActivityPace } from './engine-report.ts';

const text = (words: string) => ({ type: 'text' as const, text: words });

test('the first text of an agent becomes an event at once', () => {
  expect(new ActivityPace().take(text('reading'), 0)).toEqual({
    type: 'run.activity',
    kind: 'text',
    text: 'reading',
  });
});

test('a burst of activity is reported completely', () => {
  const pace = new ActivityPace();
  const taken = Array.from({ length: 40 }, (_, n) => pace.take(text(`line ${n}`), 0));
  expect(taken.map(each => each?.text)).toEqual(Array.from({ length: 40 }, (_, n) => `line ${n}`));
  expect(pace.rest()).toBeNull();
});

test('a flood becomes a few events a second, and skipped events are counted', () => {
  const pace = new ActivityPace();
  const all = Array.from({ length: 60_000 }, (_, ms) => text(`line ${ms}`));
  const taken = all.map((each, ms) => pace.take(each, ms)).filter(each => each !== null);
  expect(taken.length).toBeGreaterThan(5 * 59);
  expect(taken.length).toBeLessThanOrEqual(40 + 5 * 60);
  expect(taken.at(-1)).toMatchObject({ text: expect.stringMatching(/^line \d+$/), skipped: 199 });
  const told = taken.reduce((sum, { skipped = 0 }) => sum + 1 + skipped, 0);
  const { skipped = 0 } = pace.rest() ?? {};
  expect(told + skipped).toBe(all.length);
  expect(pace.rest()).toBeNull();
});

test('tool calls are reported even when text is skipped', () => {
  const pace = new ActivityPace();
  for (let n = 0; n < 1_000; n++) pace.take(text(`line ${n}`), 0);
  const did = { type: 'tool' as const, name: 'write', detail: 'a.ts' };
  expect(pace.take(did, 0)).toMatchObject({ kind: 'tool', text: 'write a.ts', skipped: 960 });
  expect(pace.take(text('more'), 0)).toBeNull();
});

test('long text is cut, never inside a character', () => {
  const activity = new ActivityPace().take(text(`${'a'.repeat(299)}😀 and more`), 0)!;
  expect(activity.text.isWellFormed()).toBe(true);
  expect(activity.text.length).toBeLessThanOrEqual(301);
});

test('figures and ends are no activity', () => {
  const pace = new ActivityPace();
  expect(pace.take({ type: 'end', ok: true, answer: '', error: null }, 0)).toBeNull();
  expect(pace.take({ type: 'chat', id: 'x' }, 0)).toBeNull();
});

test('calls that were not reported one by one are reported as a number', () => {
  const told = (calls: number, failed: number) =>
    new ActivityPace().take({ type: 'more_tools', calls, failed }, 0);
  expect(told(1_500, 3)).toMatchObject({ kind: 'tool', text: '1500 more calls, 3 failed' });
  expect(told(1, 0)).toMatchObject({ kind: 'tool', text: '1 more call' });
});
