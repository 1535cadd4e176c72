import { expect, test } from 'vitest';
import type { CallEnd, CodeTool } from '../code-mode/code-mode.ts';
import type { TracePart } from '../schema/conversation.ts';
import { CallTotals, ProgramCalls } from './program-tool.ts';

const tool = (name: string): CodeTool => ({ name, description: '', inputSchema: {}, call: async () => null });
const got = (value: unknown): CallEnd => ({ ok: true, value, json: JSON.stringify(value) });
const NOT: CallEnd = { ok: false, error: 'no such file' };

function program(kept = new CallTotals()) {
  const messages: TracePart[][] = [];
  const lines: Record<string, unknown>[] = [];
  const trace = (parts: TracePart[]) => void messages.push(parts);
  const calls = new ProgramCalls({ id: 'p', emit: line => void lines.push(line), trace }, kept);
  const call = (name: string, args: Record<string, unknown>, end: CallEnd) =>
    calls.watch(tool(name), args)(end);
  return { calls, call, messages, lines };
}

test('calls made at the same time are one message with their inputs and outputs', () => {
  const { calls, call, messages, lines } = program();
  const endFirst = calls.watch(tool('files__read'), { path: 'a' });
  call('files__stat', { path: 'b' }, NOT);
  endFirst(got({ size: 1 }));
  calls.over();
  const place = { within: 'p', at: expect.any(Number) };
  expect(messages).toEqual([
    [
      { type: 'tool_call', id: 'p.1', name: 'files__read', input: { path: 'a' }, ...place },
      { type: 'tool_call', id: 'p.2', name: 'files__stat', input: { path: 'b' }, ...place },
      {
        ...{ type: 'tool_result', id: 'p.2', name: 'files__stat', output: 'no such file', isError: true },
        ...place,
      },
      {
        ...{ type: 'tool_result', id: 'p.1', name: 'files__read', output: { size: 1 }, isError: false },
        ...place,
      },
    ],
  ]);
  expect(lines).toEqual([
    { type: 'tool', id: 'p.1', name: 'files__read', detail: '{"path":"a"}' },
    { type: 'tool', id: 'p.2', name: 'files__stat', detail: '{"path":"b"}' },
    { type: 'tool_end', id: 'p.2', name: 'files__stat', ok: false, detail: 'no such file' },
    { type: 'tool_end', id: 'p.1', name: 'files__read', ok: true, detail: '{"size":1}' },
  ]);
});

test('a slow call is recorded while the program waits for it', async () => {
  const { calls, messages } = program();
  const end = calls.watch(tool('slow'), {});
  await expect.poll(() => messages.flat().map(({ type }) => type)).toEqual(['tool_call']);
  end(got('words'));
  calls.over();
  expect(messages.flat()).toMatchObject([{ id: 'p.1' }, { id: 'p.1', output: 'words' }]);
});

test('a program without calls leaves no record', () => {
  const { calls, messages, lines } = program();
  calls.over();
  expect([messages, lines]).toEqual([[], []]);
});

test('the first calls are recorded, and the rest are counted', () => {
  const { calls, call, messages, lines } = program();
  for (let n = 0; n < 2_000; n++) call('echo', { n }, n % 1_000 === 999 ? NOT : got(n));
  calls.over();
  const parts = messages.flat();
  expect(parts.filter(({ type }) => type === 'tool_call')).toHaveLength(500);
  expect(parts.filter(({ type }) => type === 'tool_result')).toHaveLength(500);
  expect(parts.at(-1)).toEqual({ type: 'more_calls', within: 'p', calls: 1_500, failed: 2 });
  expect(lines).toHaveLength(1_001);
  expect(lines.at(-1)).toEqual({ type: 'more_tools', calls: 1_500, failed: 2 });
});

test('long inputs and outputs use up the limit sooner, and are not kept in memory', () => {
  const { calls, call, messages } = program();
  for (let n = 0; n < 500; n++) call('echo', { a: 'x'.repeat(300_000) }, got('y'.repeat(300_000)));
  calls.over();
  expect(messages.flat().filter(({ type }) => type === 'tool_call').length).toBeLessThan(100);
  expect(messages.every(parts => parts.length === 1)).toBe(true);
  expect(messages.flat().at(-1)).toMatchObject({ type: 'more_calls', failed: 0 });
});

test('all programs together have a limit', () => {
  const kept = new CallTotals();
  const counts = Array.from({ length: 12 }, () => {
    const { calls, call, messages } = program(kept);
    for (let n = 0; n < 500; n++) call('echo', { n }, got(n));
    calls.over();
    return messages.flat().filter(({ type }) => type === 'tool_call').length;
  });
  expect(counts).toEqual([...Array(10).fill(500), 0, 0]);
});
