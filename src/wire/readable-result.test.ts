import { expect, it } from 'vitest';
import { readableResult } from './readable-result.ts';

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
