import { expect, test } from 'vitest';
import { newRunId } from '../schema/ids.ts';
import { createInFlight } from './in-flight.ts';
import { settled } from './testing/virtual-time.ts';

const never = new AbortController().signal;

test('so many of one run and so many in all go at once, the rest in the order they came', async () => {
  const limits = createInFlight({ inAll: 3, ofOneRun: 2 });
  const [a, b] = [newRunId(), newRunId()];
  const admitted: string[] = [];
  const enter = (run: typeof a, name: string) => {
    const wait = limits.enter(run, never);
    if (wait === undefined) admitted.push(name);
    else void wait.then(() => admitted.push(name));
  };
  enter(a, 'a1');
  enter(a, 'a2');
  enter(a, 'a3');
  enter(b, 'b1');
  enter(b, 'b2');
  await settled();
  expect(admitted).toEqual(['a1', 'a2', 'b1']);
  limits.leave(b);
  await settled();
  // The run that has all its own places taken does not hold up the other.
  expect(admitted).toEqual(['a1', 'a2', 'b1', 'b2']);
  limits.leave(a);
  await settled();
  expect(admitted.at(-1)).toBe('a3');
  for (const run of [a, a, b]) limits.leave(run);
  expect(limits.count()).toBe(0);
});

test('who waits can give up, and leaves nothing to be given back', async () => {
  const limits = createInFlight({ inAll: 1, ofOneRun: 1 });
  const [a, b] = [newRunId(), newRunId()];
  expect(limits.enter(a, never)).toBeUndefined();
  const gone = new AbortController();
  const waiting = limits.enter(b, gone.signal);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(limits.enter(b, gone.signal)).rejects.toThrow('gone');
  limits.leave(a);
  expect(limits.count()).toBe(0);
  expect(limits.enter(b, never)).toBeUndefined();
});
