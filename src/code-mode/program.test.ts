import { expect, test } from 'vitest';
import { run, tool } from './testing/sandboxes.ts';

const echo = tool('echo', async args => args);

test('an empty program succeeds', async () => {
  expect(await run('')).toEqual({
    ok: true,
    output: '',
    returned: null,
    error: null,
  });
});

test('types are stripped, await and return work at the top level, and tools are functions', {
  tags: ['E5'],
}, async () => {
  const program = `interface Got { a: number }
const got = (await tools.echo({ a: 1 })) as Got;
const same = <T>(value: T): T => value;
console.log('one', got);
return same<number>(got.a) + 1;`;
  expect(await run(program, { tools: [echo] })).toEqual({
    ok: true,
    output: 'one {"a":1}\n',
    returned: '2',
    error: null,
  });
});

test('Unicode and nested data are unchanged in both directions', async () => {
  const value = { ключ: ['é', '😀', '\u2028', '\0', { deep: [null, true, 1.5, ''] }], __proto: 'x' };
  const { returned, error } = await run(`return tools.echo(${JSON.stringify(value)})`, { tools: [echo] });
  expect(error).toBeNull();
  expect(JSON.parse(returned!)).toEqual(value);
});

test.each([
  ['nothing', 'return undefined', null],
  ['a function', 'return () => 1', null],
  ['a big integer', 'return { a: 12n }', '{"a":"12n"}'],
  [
    'a cycle, but not the same thing twice',
    'const a = {}; a.a = a; const b = {}; return [a, b, b]',
    '[{"a":"[circular]"},{},{}]',
  ],
  ['a map and a set', 'return [new Map([["a", 1]]), new Set([2])]', '[[["a",1]],[2]]'],
  ['an error', 'return { e: new TypeError("no") }', '{"e":"TypeError: no"}'],
])('%s can be returned', async (_, program, returned) => {
  expect(await run(program)).toMatchObject({ ok: true, returned, error: null });
});

test('output of all console methods is in order', async () => {
  const { output } = await run(`console.log('a', 1, { b: [2] }, undefined, null, 3n);
console.error('b'); console.warn(new Error('c')); console.group('d'); console.info('e'); console.groupEnd();
console.assert(false, 'f'); console.assert(true, 'never'); console.table([1]); console.count(); console.log(Symbol('s'));`);
  expect(output).toBe(
    'a 1 {"b":[2]} undefined null 3n\nb\nError: c\n    at program.ts:2:34\nd\n  e\nAssertion failed f\n[1]\ndefault: 1\nSymbol(s)\n'.replace(
      'null 3n',
      'null "3n"',
    ),
  );
});

test.each([
  ['an exception', 'const a = 1;\n\nnull.x', /^TypeError: .*\n {4}at program\.ts:3:6$/],
  ['an exception in typed code', 'type A = {\n  b: 1\n}\nconst x: A = null!;\nx.b', /at program\.ts:5:3$/],
  [
    'an exception below functions',
    'function f() {\n  throw new Error("x")\n}\nf()',
    /at f \(program\.ts:2:9\)\n {4}at program\.ts:4:1$/,
  ],
  ['no JavaScript', 'const a = 1;\nconst = 2', /^program\.ts:2\nconst = 2\n\nSyntaxError: /],
  ['an end too early', 'if (true) {', /^program\.ts:1\nif \(true\) \{\n\nSyntaxError: /],
  [
    'an enum',
    '\nenum A { x }',
    /^program\.ts:2\nenum A \{ x \}\n\nSyntaxError: TypeScript enum is not supported.*\nOnly types are removed/,
  ],
  ['an import', 'import fs from "node:fs"', /^program\.ts:1\n.*\n\nSyntaxError/],
  ['an import as it goes', 'await import("node:fs")', /^TypeError: .*import/],
  ['too deep a nesting', `x = ${'['.repeat(100_000)}`, /nested too deeply/],
  ['something thrown that is no error', 'throw { a: 1 }', /^Thrown: \{"a":1\}$/],
  ['nothing thrown', 'throw undefined', /^Thrown: undefined$/],
  [
    'an error that throws when looked at',
    'throw new Proxy(new Error("x"), { get() { throw 1 } })',
    /^Thrown/,
  ],
  [
    'an exception in a timer',
    'setTimeout(() => { throw new Error("late") }, 1); await new Promise(() => {})',
    /^Error: late\n/,
  ],
  [
    'an unhandled rejection',
    'Promise.reject(new Error("lost")); return 1',
    /Unhandled promise rejection: Error: lost\n {4}at program\.ts:1:16/,
  ],
  ['a promise that never settles', 'await new Promise(() => {})', /never settle/],
  ['a cause', 'throw new Error("a", { cause: new Error("b") })', /^Error: a\n.*\ncaused by Error: b\n/],
])('%s is reported with line numbers of the program', async (_, program, error) => {
  const result = await run(program);
  expect(result).toMatchObject({ ok: false });
  expect(result.error).toMatch(error);
});

test('a rejection that is handled later is not a failure', async () => {
  const program = `const failing = Promise.reject(new Error('x'));
await new Promise(wake => setTimeout(wake, 5));
return failing.catch(error => error.message);`;
  expect(await run(program)).toMatchObject({ ok: true, returned: '"x"' });
});

test('timers work and can be cleared', async () => {
  const program = `let ticks = 0;
const never = setTimeout(() => { ticks += 100 }, 1);
clearTimeout(never);
await new Promise(resolve => { const each = setInterval(() => { if (++ticks === 3) { clearInterval(each); resolve() } }, 1) });
return ticks;`;
  expect(await run(program)).toMatchObject({ ok: true, returned: '3' });
});

test('output and return value are cut to the limit', async () => {
  const { ok, output, returned } = await run(`console.log('p'.repeat(500)); return 'r'.repeat(80)`, {
    limits: { outputChars: 100 },
  });
  expect(ok).toBe(true);
  expect(returned).toBe(`"${'r'.repeat(80)}"`);
  expect(output).toBe(`${'p'.repeat(18)}\n[483 more characters left out]`);
  const long = await run(`return 'r'.repeat(500)`, { limits: { outputChars: 100 } });
  expect(long.returned).toBe(`"${'r'.repeat(99)}\n[402 more characters left out]`);
  expect(long.output).toBe('');
});

test('an output limit larger than a message works', async () => {
  const { ok, returned } = await run('return "\\u0001".repeat(3e6)', { limits: { outputChars: 1e9 } });
  expect(ok).toBe(true);
  expect(returned!.slice(-30)).toMatch(/ more characters left out\]$/);
});

test('only some of very many unhandled rejections are reported', async () => {
  const result = await run('for (let n = 0; n < 5000; n++) Promise.reject(new Error("x".repeat(10_000)))');
  expect(result.error).toMatch(/^Unhandled promise rejection/);
  expect(result.error!.length).toBeLessThan(21_000);
});
