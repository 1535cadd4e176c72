import { describe, expect, it } from 'vitest';
import type { ToolDef } from './face.ts';
import { readableResult, toolListText } from './tool-result.ts';

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
])('a value that would lose something stays as it is: %s', (_what, result) => {
  expect(readableResult(result, QWEN)).toBe(result);
});

it('everybody else gets an error as text and as structured content', () => {
  const both = failing(JSON.stringify(ERROR), { structuredContent: ERROR });
  expect(readableResult(both, { name: 'codex-mcp-client', version: '1' })).toBe(both);
});

const tool = (more: object): ToolDef => ({
  name: 't',
  description: 'd',
  inputSchema: { type: 'object' },
  ...more,
});
const read = (text: Buffer) => JSON.parse(text.toString()) as unknown;

describe('a list of tools as text', () => {
  it('is made once for each era, as long as it is the same list', { tags: ['R13'] }, () => {
    let made = 0;
    const counted = tool({
      toJSON: () => {
        made += 1;
        return {};
      },
    });
    const list = [counted];
    for (let again = 0; again < 3; again += 1) {
      toolListText(list, 'legacy');
      toolListText(list, 'modern');
    }
    expect(made).toBe(2);
    toolListText([counted], 'modern');
    expect(made).toBe(3);
  });

  it('says in each era only what the era has words for', () => {
    const list = [
      tool({ execution: { taskSupport: 'optional' }, outputSchema: { type: 'array' } }),
      tool({ outputSchema: { type: 'object', required: [] } }),
    ];
    expect(read(toolListText(list, 'legacy'))).toEqual([
      tool({ execution: { taskSupport: 'optional' } }),
      list[1],
    ]);
    expect(read(toolListText(list, 'modern'))).toEqual([tool({ outputSchema: { type: 'array' } }), list[1]]);
  });
});
