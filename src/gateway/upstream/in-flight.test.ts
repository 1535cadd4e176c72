import { expect, test } from 'vitest';
import { newRunId } from '../../schema/ids.ts';
import { settled, VirtualTime } from '../testing/virtual-time.ts';
import { Busy, createInFlight } from './call-limit.ts';

const never = new AbortController().signal;

test('so many of one run and so many in all go at once, the rest in the order they came', async () => {
  const limits = createInFlight({ inAll: 3, ofOneRun: 2 }, new VirtualTime());
  const [a, b] = [newRunId(), newRunId()];
  const admitted: string[] = [];
  const enter = (run: typeof a, name: string) => {
    const wait = limits.enter(run, never, 30_000);
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

test('a waiting call can give up, and leaves nothing to be given back', async () => {
  const limits = createInFlight({ inAll: 1, ofOneRun: 1 }, new VirtualTime());
  const [a, b] = [newRunId(), newRunId()];
  expect(limits.enter(a, never, 30_000)).toBeUndefined();
  const gone = new AbortController();
  const waiting = limits.enter(b, gone.signal, 30_000);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(limits.enter(b, gone.signal, 30_000)).rejects.toThrow('gone');
  limits.leave(a);
  expect(limits.count()).toBe(0);
  expect(limits.enter(b, never, 30_000)).toBeUndefined();
});

test('a call waits for a limited time only, and one that was admitted is not rejected later', async () => {
  const time = new VirtualTime();
  const limits = createInFlight({ inAll: 1, ofOneRun: 1 }, time);
  const [a, b, c] = [newRunId(), newRunId(), newRunId()];
  limits.enter(a, never, 1_000);
  const [second, third] = [limits.enter(b, never, 30_000), limits.enter(c, never, 10_000)];
  const refused = expect(third).rejects.toBeInstanceOf(Busy);
  await time.pass(10_000);
  await refused;
  limits.leave(a);
  await second;
  await time.pass(60_000);
  expect(limits.count()).toBe(1);
  limits.leave(b);
  expect(limits.enter(c, never, 1_000)).toBeUndefined();
  const next = limits.enter(a, never, 1_000);
  limits.leave(c);
  await next;
});
