import { afterEach, expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';
import { createCodeRunner } from './code-runner.ts';
import { LIMITS, realSandbox, tool } from './testing/sandboxes.ts';

const sandbox = await realSandbox();
const others = new Set(descendantsOf(process.pid));
const below = () => descendantsOf(process.pid).filter(pid => !others.has(pid));
afterEach(() => expect(below()).toEqual([]));
const { signal } = new AbortController();

test('of sixty programs four run at once, and all get their results', {
  tags: ['E5'],
  timeout: 120_000,
}, async () => {
  const { promise: fourAreThere, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  let processes = 0;
  const meet = tool('meet', async ({ n }) => {
    processes = Math.max(processes, below().length);
    if (++calls === 4) resolve();
    await fourAreThere;
    return n;
  });
  await using runner = createCodeRunner({ tools: [meet], limits: { ...LIMITS, timeoutMs: 60_000 }, sandbox });
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  const results = await Promise.all(
    numbers.map(n => runner.run(`return await tools.meet({ n: ${n} })`, signal)),
  );
  expect(results.map(({ returned }) => returned)).toEqual(numbers.map(String));
  // Bubblewrap and what is in it.
  expect(processes).toBeLessThanOrEqual(4 * 3);
});

test('the timeout of a waiting program starts when it runs', async () => {
  const limits = { ...LIMITS, timeoutMs: 5_000 };
  await using runner = createCodeRunner({ tools: [], limits, sandbox });
  const endless = Array.from({ length: 4 }, () =>
    runner.run('for (;;) await new Promise(wake => setTimeout(wake, 100))', signal),
  );
  const waits = runner.run('return 1', signal);
  for (const each of endless) expect((await each).error).toContain('did not finish within 5 s');
  expect(await waits).toMatchObject({ ok: true, returned: '1' });
}, 60_000);

test('waiting programs are dropped when the runner closes or they are aborted', async () => {
  const { promise: isThere, resolve } = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const hang = tool('hang', ({ n }) => {
    if (asked.push(n) === 4) resolve();
    return new Promise(() => {});
  });
  const runner = createCodeRunner({ tools: [hang], limits: LIMITS, sandbox });
  const stop = new AbortController();
  const run = (n: number, signal: AbortSignal) =>
    runner.run(`await tools.hang({ n: ${n} })`, signal).catch((thrown: Error) => thrown.message);
  const going = [0, 1, 2, 3].map(n => run(n, signal));
  const [givenUp, closed] = [run(4, stop.signal), run(5, signal)];
  await isThere;
  stop.abort(new Error('enough'));
  expect(await givenUp).toBe('enough');
  await runner.close();
  expect(await Promise.all([...going, closed])).toEqual(Array(5).fill('Code mode has been closed.'));
  expect(asked.toSorted()).toEqual([0, 1, 2, 3]);
});
