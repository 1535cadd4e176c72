import { expect, test } from 'vitest';
import { createRedactor } from '../redaction/redactor.ts';
import type { TracePart, TraceRole } from '../schema/conversation.ts';
import { createOutputWriter, MAX_KEPT_LENGTH } from './output-lines.ts';

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
