import { expect, test } from 'vitest';
import type { SavedRun } from '../state/saved.ts';
import { answersOf } from './answers.ts';

const run = 'run_0000000001';
const output = (turn: number, text: string) => ({
  ...{ turn, stream: 'stdout' as const, text, firstLine: 1, leftOut: 0, words: null },
});
const event = (seq: number) => ({ seq, at: seq, runId: run, squadId: null, body: { type: 'hub.stopped' } });
const saved = {
  run,
  answers: [
    {
      name: 'show_run',
      input: { run },
      answer: { run: { turn: 2, status: 'completed', endedAt: 5 } },
    },
    {
      name: 'diff_run',
      input: { run },
      error: { code: 'DIFF_UNAVAILABLE', message: 'No diff', suggestions: ['Look elsewhere.'] },
    },
  ],
  outputs: [
    output(2, 'second\n'),
    output(1, 'a \u001b[31mred\u001b[0m needle\nnothing\nNeedle (x-y) again\n'),
  ],
  events: [5, 4, 3, 2, 1].map(event),
} as unknown as SavedRun;
const ask = answersOf(saved);

test('saved questions are answered, and refused, as they were when saved', () => {
  expect(ask('show_run', { run, extra: undefined })).toMatchObject({ run: { turn: 2 } });
  expect(() => ask('diff_run', { run })).toThrow(
    expect.objectContaining({ code: 'DIFF_UNAVAILABLE', suggestions: ['Look elsewhere.'] }),
  );
});

test.each([
  ['show_run', { run: 'run_0000000002' }],
  ['read_output', { run: 'run_0000000002', stream: 'stdout' }],
  ['read_output', { run, turn: 3 }],
  ['list_events', { run: 'run_0000000002' }],
  ['cancel_run', { spawn_id: run }],
])('%s %o is not in the file', (name, input) => {
  expect(ask(name, input)).toBeUndefined();
});

test('events come by pages, the newest first', () => {
  const page = ask('list_events', { run, limit: 2 }) as { events: { seq: number }[]; next: number };
  expect([page.events.map(({ seq }) => seq), page.next]).toEqual([[5, 4], 4]);
  const last = ask('list_events', { run, limit: 3, before: 4 }) as typeof page;
  expect([last.events.map(({ seq }) => seq), last.next]).toEqual([[3, 2, 1], null]);
});

test('an output is that of the newest turn unless another is asked for', () => {
  expect(ask('read_output', { run })).toMatchObject({ text: 'second\n', turn: 2, lastTurn: 2, isOver: true });
  expect(ask('read_output', { run, turn: 1, offset: -6 })).toMatchObject({ text: 'again\n', turn: 1 });
  expect(ask('locate_output', { run, turn: 1, line: 2 })).toMatchObject({ line: 2, lines: 3, turn: 1 });
});

test('words are found without their colours, as they are or as a pattern, a few at a time', () => {
  const find = (query: object) =>
    ask('search_output', { run, turn: 1, ...query }) as {
      matches: { line: number; column: number; text: string; offset: number }[];
      next: number | null;
    };
  expect(find({ q: 'red needle' }).matches).toEqual([
    { line: 1, offset: 0, column: 2, text: 'a red needle' },
  ]);
  expect(find({ q: 'needle' }).matches.map(({ line }) => line)).toEqual([1, 3]);
  expect(find({ q: 'needle', isCaseSensitive: true }).matches.map(({ line }) => line)).toEqual([1]);
  expect(find({ q: '(x-y)' }).matches).toHaveLength(1);
  expect(find({ q: '^n\\w+g$', isRegex: true }).matches.map(({ line }) => line)).toEqual([2]);
  const first = find({ q: 'needle', limit: 1 });
  expect(first.next).not.toBeNull();
  expect(find({ q: 'needle', limit: 1, after: first.next! }).matches.map(({ line }) => line)).toEqual([3]);
  expect(() => find({ q: '(', isRegex: true })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
});
