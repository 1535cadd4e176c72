import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { descendantsOf } from '../process/table/descendants.ts';
import { run, tool } from './testing/sandboxes.ts';
import { createToolCalls } from './tool-calls.ts';

test('fifty calls of one program are in flight together', { tags: ['E5'] }, async () => {
  let inFlight = 0;
  const { promise: allThere, resolve } = Promise.withResolvers<void>();
  const meet = tool('meet', async ({ n }) => {
    if (++inFlight === 50) resolve();
    await allThere;
    return n;
  });
  const program = 'return Promise.all(Array.from({ length: 50 }, (_, n) => tools.meet({ n })))';
  const result = await run(program, { tools: [meet] });
  expect(JSON.parse(result.returned!)).toEqual(Array.from({ length: 50 }, (_, n) => n));
});

test('answers reach their calls in any order', async () => {
  const given = new Map<unknown, () => void>();
  const wait = tool('wait', ({ n }) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    given.set(n, () => resolve(`answer ${n}`));
    // The last one is answered first.
    if (given.size === 3) for (const answer of [...given.values()].reverse()) answer();
    return promise;
  });
  const { returned } = await run('return Promise.all([1, 2, 3].map(n => tools.wait({ n })))', {
    tools: [wait],
  });
  expect(JSON.parse(returned!)).toEqual(['answer 1', 'answer 2', 'answer 3']);
});

test('many calls wait in line, and the number in flight is limited', async () => {
  let inFlight = 0;
  let most = 0;
  const step = tool('step', async ({ n }) => {
    most = Math.max(most, ++inFlight);
    await new Promise(wake => setImmediate(wake));
    inFlight--;
    return n;
  });
  const program = `const all = await Promise.all(Array.from({ length: 3000 }, (_, n) => tools.step({ n, filler: 'x'.repeat(100) })));
return all.every((value, n) => value === n);`;
  const result = await run(program, { tools: [step] });
  expect(result).toMatchObject({ ok: true, returned: 'true' });
  expect(most).toBeLessThanOrEqual(64);
});

test('a failing tool throws in the program, which may catch it', async () => {
  const bad = tool('bad', async () => {
    throw new Error('no such file');
  });
  const worse = tool('worse', () => {
    throw 'just words';
  });
  const program = `try { await tools.bad({}) } catch (error) { console.log(error instanceof ToolError, error.message) }
try { await tools.worse({}) } catch (error) { console.log(error.message) }

await tools.bad({});`;
  expect(await run(program, { tools: [bad, worse] })).toEqual({
    ok: false,
    output: 'true no such file\njust words\n',
    returned: null,
    error: 'ToolError: no such file\n    at program.ts:4:13',
  });
});

test.each([
  ['undefined', async () => undefined, 'typeof value', '"undefined"'],
  ['null', async () => null, 'value === null', 'true'],
  ['what is no JSON', async () => 1n, 'value', /BigInt/],
  [
    'more than a program can receive',
    async () => 'x'.repeat(9 * 1024 * 1024),
    'value',
    /more than a program can receive/,
  ],
])('a tool that answers %s', async (_, call, look, expected) => {
  const result = await run(`const value = await tools.answer(); return ${look}`, {
    tools: [tool('answer', call)],
  });
  if (expected instanceof RegExp) expect(result.error).toMatch(expected);
  else expect(result.returned).toBe(expected);
});

test.each([
  ['nothing to call', 'await tools.other({})', /^TypeError: tools\.other is not a function/],
  ['a string', 'await tools.echo("x")', /takes one object/],
  ['a list', 'await tools.echo([])', /takes one object/],
  ['what becomes no object', 'await tools.echo({ toJSON: () => 1 })', /takes one object/],
  ['a cycle', 'const a = {}; a.a = a; await tools.echo(a)', /circular/],
  ['too much', 'await tools.echo({ a: "x".repeat(4e6) })', /longer than/],
])('%s is refused before anything is called', async (_, program, error) => {
  const called: unknown[] = [];
  const result = await run(program, { tools: [tool('echo', async args => called.push(args))] });
  expect(result.ok).toBe(false);
  expect(called).toEqual([]);
  expect(result.error).toMatch(error);
});

test('hostile tool names and arguments have no effect', async () => {
  const seen: unknown[] = [];
  const names = ['__proto__', 'constructor', 'then', 'a-b', 'a_b', '1st', 'delete', 'x"];process.exit();//'];
  const tools = names.map(name => tool(name, async args => seen.push([name, Object.entries(args)])));
  const program = `for (const name of Object.keys(tools)) await tools[name](JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'));
return [Object.keys(tools), {}.polluted]`;
  const result = await run(program, { tools });
  expect(JSON.parse(result.returned!)).toEqual([
    ['a_b', 'delete', '__proto___', 'constructor_', 'then_', 'a_b_2', '_1st', 'x___process_exit_____'],
    null,
  ]);
  const args = [
    ['__proto__', { polluted: true }],
    ['constructor', 1],
  ];
  expect(seen).toHaveLength(names.length);
  for (const each of seen) expect(each).toEqual([expect.any(String), args]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('calls that the program did not await are cancelled, with a note', async () => {
  let wasCancelled = false;
  const endless = tool('endless', async (_, signal) => {
    await once(signal, 'abort');
    wasCancelled = true;
  });
  const program = 'tools.endless(); tools.endless(); return 1';
  const { ok, output } = await run(program, { tools: [endless] });
  expect(ok).toBe(true);
  expect(output).toContain('without waiting for endless (2)');
  expect(wasCancelled).toBe(true);
});

test('aborting a program cancels its call and ends its process', async () => {
  const stop = new AbortController();
  let reason: unknown = null;
  const hang = tool('hang', async (_, signal) => {
    signal.addEventListener('abort', () => {
      reason = signal.reason;
    });
    stop.abort(new Error('enough'));
    return new Promise(() => {});
  });
  const before = descendantsOf(process.pid);
  await expect(run('await tools.hang()', { tools: [hang], signal: stop.signal })).rejects.toThrow('enough');
  expect(reason).toBeInstanceOf(Error);
  expect(descendantsOf(process.pid).filter(pid => !before.includes(pid))).toEqual([]);
});

test('the watcher is notified when a call starts and once when it ends', async () => {
  const told: unknown[] = [];
  const first = Promise.withResolvers<string>();
  const tools = [
    tool('first-one', () => first.promise),
    tool('second', async () => {
      setImmediate(() => first.resolve('late'));
      throw new Error('no such file');
    }),
    tool('endless', () => new Promise(() => {})),
    tool('much', async () => 'x'.repeat(9 * 1024 * 1024)),
  ];
  const { error } = await run(
    `await Promise.allSettled([tools.first_one({ a: 1 }), tools.second()]);
await tools.much().catch(() => {});
tools.endless();
return 1`,
    {
      tools,
      watch: ({ name }, args) => {
        told.push([name, args]);
        return end => told.push([name, end]);
      },
    },
  );
  expect(error).toBeNull();
  expect(told).toEqual([
    ['first-one', { a: 1 }],
    ['second', {}],
    ['second', { ok: false, error: 'no such file' }],
    ['first-one', { ok: true, value: 'late', json: '"late"' }],
    ['much', {}],
    ['much', { ok: false, error: expect.stringContaining('more than a program can receive') }],
    ['endless', {}],
    ['endless', { ok: false, error: expect.stringContaining('Cancelled') }],
  ]);
});

test('an aborted signal starts nothing', async () => {
  await expect(run('', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
});

test('answers that a guest does not read do not pile up: it gets an error instead', async () => {
  const large = 'x'.repeat(7 * 1024 * 1024);
  const given = tool('given', async () => large);
  const pipe = new Writable({ write() {} });
  const calls = createToolCalls(new Map([['given', given]]), pipe, () => () => {});
  for (let id = 0; id < 30; id++)
    expect(calls.start({ type: 'call', id, tool: 'given', args: {} }, 100)).toBe(true);
  await expect.poll(() => calls.inFlight()).toEqual([]);
  expect(pipe.writableLength / 1024 / 1024).toBeGreaterThan(40);
  expect(pipe.writableLength / 1024 / 1024).toBeLessThan(65);
  pipe.destroy();
});
