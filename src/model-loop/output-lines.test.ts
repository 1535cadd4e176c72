import { expect, test } from 'vitest';
import { createRedactor } from '../redaction/redactor.ts';
import { MAX_AGENT_LINE_LENGTH } from '../schema/agent-protocol.ts';
import type { TraceMessage, TracePart, TraceRole } from '../schema/conversation.ts';
import { createOutputWriter, type LineBody, MAX_KEPT_LENGTH } from './output-lines.ts';

const MIB = 1024 * 1024;

function printed(body: LineBody): { bytes: number; line: Record<string, unknown> } {
  let out = '';
  createOutputWriter({ write: text => (out += text) }).emit(body);
  expect(out.indexOf('\n')).toBe(out.length - 1);
  return { bytes: Buffer.byteLength(out) - 1, line: JSON.parse(out) };
}

function contentOf(...content: TracePart[]): TracePart[] {
  const { bytes, line } = printed({
    type: 'message',
    message: { id: 'msg_1', parentId: null, role: 'user', content, at: 1 },
  });
  expect(bytes).toBeLessThanOrEqual(MAX_AGENT_LINE_LENGTH);
  return (line.message as TraceMessage).content;
}

test('a line that fits is written unchanged', () => {
  const text = 'x'.repeat(MAX_AGENT_LINE_LENGTH - 1000);
  expect(contentOf({ type: 'text', text })).toEqual([{ type: 'text', text }]);
});

test.each([
  ['letters', 'x'],
  ['line ends, which take two bytes', '\n'],
  ['controls, which take six', '\u0001'],
  ['characters of four bytes', '🙂'],
])('%s: a long text is cut to what fits into the line, with a note of the kept size', (_, letter) => {
  const all = letter.repeat(9 * MIB);
  const [part] = contentOf({ type: 'text', text: all });
  const { text } = part as { text: string };
  const [mark, kept, of] = /\n\[(\d+) of (\d+) bytes kept\]$/.exec(text)!;
  const rest = text.slice(0, -mark.length);
  expect(all.startsWith(rest)).toBe(true);
  expect(Number(kept)).toBe(Buffer.byteLength(rest));
  expect(Number(of)).toBe(Buffer.byteLength(all));
  expect(Buffer.byteLength(JSON.stringify(rest))).toBeGreaterThan(MAX_AGENT_LINE_LENGTH - 3000);
});

test('short parts stay whole, and long parts share the remaining space', () => {
  const file: TracePart = { type: 'file', name: 'a.pdf', mediaType: 'application/pdf', bytes: 7 };
  const call: TracePart = { type: 'tool_call', id: '1', name: 'put', input: { text: 'x'.repeat(9 * MIB) } };
  const content = contentOf(file, { type: 'text', text: 'brief' }, call, {
    type: 'reasoning',
    text: 'y'.repeat(9 * MIB),
  });
  expect(content.slice(0, 2)).toEqual([file, { type: 'text', text: 'brief' }]);
  const [input, thought] = [content[2] as { input: string }, content[3] as { text: string }];
  expect(input.input).toMatch(/^{"text":"x+\n\[\d+ of \d+ bytes kept\]$/);
  expect(Math.abs(input.input.length - thought.text.length)).toBeLessThan(1000);
});

test('a message whose length cannot be cut is replaced by a note that nothing was kept', () => {
  const name = 'n'.repeat(9 * MIB);
  expect(contentOf({ type: 'tool_call', id: '1', name, input: {} })).toEqual([
    { type: 'text', text: expect.stringMatching(/^\[0 of 94\d{5} bytes kept\]$/) },
  ]);
});

test('other lines keep the beginning of long fields', () => {
  const { bytes, line } = printed({ type: 'tool', id: '1', name: 'n'.repeat(9 * MIB), detail: '{}' });
  expect(bytes).toBeLessThan(70_000);
  expect(line).toMatchObject({ type: 'tool', id: '1', detail: '{}' });
});

test('an answer that is too long is an error, never cut', () => {
  const { line } = printed({ type: 'end', ok: true, answer: 'x'.repeat(9 * MIB), error: null });
  expect(line).toMatchObject({ ok: false, answer: '', code: 'OUTPUT_LIMIT' });
  expect(line.error).toContain('it takes 9.0 MiB as JSON, and the limit is 8.0 MiB');
});

const SECRET = 'a-secret-of-this-test';

/** The pieces as they come out. */
function told(role: TraceRole, ...content: TracePart[]): { input?: unknown; output?: unknown }[] {
  let line = '';
  const { emit, hideSecrets } = createOutputWriter({ write: text => (line = text) });
  hideSecrets(createRedactor([{ name: 'KEY', value: SECRET }]));
  emit({ type: 'message', message: { id: 'msg_0123456789', parentId: null, role, content, at: 0 } });
  return JSON.parse(line).message.content;
}

const call = (input: unknown): TracePart => ({ type: 'tool_call', id: 'p.1', name: 'x', input, within: 'p' });
const result = (output: unknown): TracePart => ({
  ...{ type: 'tool_result', id: 'p.1', name: 'x', output, isError: false, within: 'p' },
});

test.each([
  ['words', 'x'.repeat(100_000), 'xxxxxx'],
  ['a value', { a: 'x'.repeat(100_000) }, '{"a":"'],
])(
  'of %s that are long the beginning is kept of what a program called, and how much is missing',
  (_, long, start) => {
    const [given, came] = told('program', call(long), result(long));
    for (const text of [String(given!.input), String(came!.output)]) {
      expect(text.slice(0, 6)).toBe(start);
      expect(text).toMatch(/\n\[16000 of \d{6} bytes kept\]$/);
      expect(text.length).toBeLessThan(MAX_KEPT_LENGTH + 100);
    }
  },
);

test("short values and the model's own calls are kept unchanged", () => {
  const short = [call({ a: [1, null] }), result('words')];
  expect(told('program', ...short)).toEqual(short);
  const long = [result('x'.repeat(100_000))];
  expect(told('tool', ...long)).toEqual(long);
});

test('secrets are redacted before the cut, so that no part of one remains', () => {
  const before = 'x'.repeat(MAX_KEPT_LENGTH - 5);
  const [given] = told('program', call(`${before}${SECRET}${before}`));
  expect(given!.input).toContain('x[secr');
  expect(given!.input).not.toContain(SECRET.slice(0, 5));
});

test('a cut never splits a character', () => {
  const [given, came] = told('program', call(`x${'🙂'.repeat(20_000)}`), result({ a: '🙂'.repeat(20_000) }));
  for (const text of [String(given!.input), String(came!.output)]) expect(text.isWellFormed()).toBe(true);
});
