import { expect, test } from 'vitest';
import type { ProcessStats } from '../ports/turns.ts';
import { OutputSilence, silenceBeforeCheckMs } from './stall-watch.ts';

const S = 1000;
const START = 1_000_000;
const idle: ProcessStats = { alive: true, stopped: false, cpuMs: 500, ioBytes: 10_000, processes: 2 };

/** A watch with looks every five seconds from `from` to `to`, in seconds after the start. */
function watched(
  from: number,
  to: number,
  at: (second: number) => Partial<ProcessStats> = () => ({}),
  stallMs: number | null = null,
) {
  const watch = new OutputSilence(START, stallMs);
  for (let second = from; second <= to; second += 5)
    watch.addSample({ ...idle, ...at(second) }, START + second * S);
  return watch;
}

test('a run that has just started is working', () => {
  expect(new OutputSilence(START, null).state(START + 29 * S).state).toBe('working');
});

test('without any sign for 30 s it is a slow start, and stays one however busy it is', () => {
  const watch = watched(20, 120, second => ({ cpuMs: second * 900 }));
  expect(watch.state(START + 30 * S)).toMatchObject({ state: 'slow_start', since: START });
  expect(watch.state(START + 120 * S)).toEqual({
    state: 'slow_start',
    since: START,
    sentence: 'No output since it started 2 min ago; its 2 processes busy.',
  });
});

test('after a sign it is silent from 60 s on', () => {
  const watch = new OutputSilence(START, null);
  watch.addSign(START + 10 * S);
  expect(watch.state(START + 69 * S).state).toBe('working');
  expect(watch.state(START + 70 * S)).toEqual({
    state: 'silent',
    since: START + 10 * S,
    sentence: 'No output for 60 s.',
  });
});

test('a sign ends every silence', () => {
  const watch = watched(20, 600);
  expect(watch.state(START + 600 * S).state).toBe('stalled');
  watch.addSign(START + 600 * S);
  expect(watch.state(START + 601 * S).state).toBe('working');
});

test('quiet and still for the stall limit is a stall', () => {
  const watch = watched(20, 320);
  expect(watch.state(START + 319 * S).state).toBe('slow_start');
  expect(watch.state(START + 320 * S)).toEqual({
    state: 'stalled',
    since: START + 320 * S,
    sentence:
      'No output for 5 min, and its 2 processes used no CPU, read nothing and wrote nothing for 5 min.',
  });
});

test.each<[string, (second: number) => Partial<ProcessStats>]>([
  ['processor time', second => ({ cpuMs: second * 20 })],
  ['reading and writing', second => ({ ioBytes: second * 1024 })],
  ['processes that come and go', second => ({ processes: second % 2 })],
])('%s is movement: silent, never stalled', (_, at) => {
  const watch = new OutputSilence(START, null);
  watch.addSign(START);
  for (let second = 20; second <= 1000; second += 5)
    watch.addSample({ ...idle, ...at(second) }, START + second * S);
  expect(watch.state(START + 1000 * S)).toMatchObject({ state: 'silent', since: START });
  expect(watch.state(START + 1000 * S).sentence).toContain('busy');
});

test('the cost of timers and open connections is no movement', () => {
  const watch = watched(20, 400, second => ({ cpuMs: second * 5, ioBytes: second * 100 }));
  expect(watch.state(START + 400 * S).state).toBe('stalled');
});

test('stillness counts from the last movement', () => {
  const watch = watched(20, 500, second => ({ cpuMs: Math.min(second, 250) * 500 }));
  expect(watch.state(START + 500 * S).state).toBe('slow_start');
  expect(watch.state(START + 549 * S).state).toBe('slow_start');
  expect(watch.state(START + 550 * S).state).toBe('stalled');
});

test('without a sample nothing is known to be still', () => {
  expect(new OutputSilence(START, null).state(START + 3600 * S).state).toBe('slow_start');
});

test('a shorter stall limit applies sooner, and so does the first check', () => {
  expect(silenceBeforeCheckMs(null)).toBe(20 * S);
  expect(silenceBeforeCheckMs(10 * S)).toBe(5 * S);
  const watch = watched(5, 15, undefined, 10 * S);
  expect(watch.state(START + 14 * S).state).toBe('working');
  expect(watch.state(START + 15 * S).state).toBe('stalled');
});

test('a process that is gone or stopped is dead after two samples', () => {
  const gone = { ...idle, alive: false, processes: 0 };
  const watch = new OutputSilence(START, null);
  watch.addSample(gone, START + 20 * S);
  expect(watch.state(START + 21 * S).state).toBe('working');
  watch.addSample(gone, START + 25 * S);
  expect(watch.state(START + 25 * S)).toEqual({
    state: 'dead',
    since: START + 20 * S,
    sentence: 'Its process is gone, but its end has not been recorded.',
  });

  const held = watched(20, 25, () => ({ stopped: true }));
  expect(held.state(START + 25 * S).sentence).toContain('SIGCONT');
  held.addSample(idle, START + 30 * S);
  expect(held.state(START + 30 * S).state).toBe('slow_start');
});
