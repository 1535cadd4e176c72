import { expect, test } from 'vitest';
import { WaitingCalls } from './waiting-calls.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<string>(settle => signal.addEventListener('abort', () => settle('waiting')));

test('a stop ends the waiting, and is over when those that waited have their answers', async () => {
  const calls = new WaitingCalls();
  const told: string[] = [];
  const patient = [1, 2].map(() => calls.while(untilAborted).then(status => told.push(status)));
  expect(calls.count).toBe(2);
  const ended = calls.end().then(() => told.push('ended'));
  await Promise.all(patient);
  calls.reportAnswered(1);
  calls.reportAnswered(1);
  await ended;
  expect(told).toEqual(['waiting', 'waiting', 'ended']);
  expect(calls.count).toBe(0);
});

test('a call that has no use for such an answer is not waited for', async () => {
  const calls = new WaitingCalls();
  void calls.while(() => new Promise(() => {}));
  await calls.end();
  expect(calls.count).toBe(1);
});

test('a client that asks again before the hub is gone gets no second answer', async () => {
  const calls = new WaitingCalls();
  await calls.end();
  await calls.while(async stopping => expect(stopping.aborted).toBe(false));
});
