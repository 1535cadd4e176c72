import { expect, it } from 'vitest';
import { readableResult } from './tool-result.ts';

const GEMINI = { name: 'gemini-cli-mcp-client', version: '0.61.0' };
const saying = (...texts: string[]) => ({ content: texts.map(text => ({ type: 'text', text })) });

it.each(['1', ' [{"id":1}]', 'true', 'null', '"quoted"'])(
  'Gemini CLI gets an empty text before a first one that is JSON and no object: %s',
  text => {
    expect(readableResult(saying(text, 'more'), GEMINI)).toEqual(saying('', text, 'more'));
  },
);

it.each([
  ['a plain text', saying('Done.', '1')],
  ['an object', saying('{"id":1}')],
  ['half of one', saying('{"id":')],
  ['nothing', saying()],
  ['a picture', { content: [{ type: 'image', data: 'MQ==' }] }],
  ['structured content beside it', { ...saying('[1]'), structuredContent: { list: [1] } }],
  ['no content', {}],
])('a result it can read stays as it is: %s', (_what, result) => {
  expect(readableResult(result, GEMINI)).toBe(result);
});

it.each([{ name: 'claude-code', version: '2.1.325' }, null])('nobody else gets one', client => {
  const result = saying('1');
  expect(readableResult(result, client)).toBe(result);
});

const QWEN = { name: 'qwen-cli-mcp-client-squad', version: '0.24.4' };
const ERROR = { error: { code: 'RUN_UNKNOWN', message: 'There is no run x' } };
const failing = (text: string, more = {}) => ({ ...saying(text), ...more, isError: true });

it.each([GEMINI, QWEN])('$name gets an error once, as structured content', client => {
  const once = { content: [], structuredContent: ERROR, isError: true };
  const text = JSON.stringify(ERROR);
  expect(readableResult(failing(text, { structuredContent: ERROR }), client)).toEqual(once);
  expect(readableResult(failing(text), client)).toEqual(once);
});

it.each([
  ['words', failing('It broke.')],
  ['words beside structured content', failing('It broke.', { structuredContent: ERROR })],
  ['several texts', { ...saying('{}', 'b'), isError: true }],
  ['a success', { ...saying(JSON.stringify(ERROR)), structuredContent: ERROR }],
])('what would lose something stays as it is: %s', (_what, result) => {
  expect(readableResult(result, QWEN)).toBe(result);
});

it('everybody else gets an error as text and as structured content', () => {
  const both = failing(JSON.stringify(ERROR), { structuredContent: ERROR });
  expect(readableResult(both, { name: 'codex-mcp-client', version: '1' })).toBe(both);
});
