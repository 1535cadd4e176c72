import { expect, test } from 'vitest';
import { agentLineReader } from './agent-line-reader.ts';

const read = agentLineReader(null);
const line = (fields: object) => JSON.stringify({ at: 1, ...fields });
const MESSAGE = {
  id: 'msg_0123456789',
  parentId: null,
  role: 'assistant',
  content: [{ type: 'tool_call', id: 'c1', name: 'look', input: { a: 1 } }],
  at: 1,
};

test.each([
  [
    { type: 'start', model: 'm-1' },
    { type: 'model', model: 'm-1' },
  ],
  [
    { type: 'text', text: 'words' },
    { type: 'text', text: 'words' },
  ],
  [
    { type: 'note', text: 'left out' },
    { type: 'note', text: 'left out' },
  ],
  [
    { type: 'tool', id: 'c1', name: 'look', detail: 'at it' },
    { type: 'tool', name: 'look', detail: 'at it' },
  ],
  [
    { type: 'tool_end', id: 'c1', name: 'look', ok: false, detail: 'gone' },
    { type: 'tool_end', name: 'look', ok: false },
  ],
  [
    { type: 'more_tools', calls: 7, failed: 2 },
    { type: 'more_tools', calls: 7, failed: 2 },
  ],
  [
    { type: 'message', message: MESSAGE },
    { type: 'message', message: MESSAGE },
  ],
  [
    { type: 'end', ok: false, answer: '', error: 'why', code: 'TURN_LIMIT' },
    { type: 'end', ok: false, answer: '', error: 'why', code: 'TURN_LIMIT' },
  ],
  [
    { type: 'end', ok: true, answer: '', structured: { a: 1 }, error: null },
    { type: 'end', ok: true, answer: '{"a":1}', structured: { a: 1 }, error: null },
  ],
])('%o', (fields, event) => {
  expect(read(line(fields))).toEqual([event]);
});

test('money is an estimate where it was worked out from prices', () => {
  const usage = { type: 'usage', input: 3, output: 2, cached: null, costUsd: 0.1 };
  const prices = { input: 1, output: 1, cacheRead: null, cacheWrite: null };
  const { type, ...figures } = usage;
  expect(agentLineReader(prices)(line(usage))).toEqual([
    { type, usage: { ...figures, costIsEstimated: true } },
  ]);
  expect(read(line(usage))).toEqual([{ type, usage: { ...figures, costIsEstimated: false } }]);
});

test.each([
  '',
  'words',
  '{"half',
  '[]',
  '7',
  line({ type: 'from.the.future' }),
  line({ type: 'end', ok: 'yes' }),
])('%s is passed over', other => {
  expect(read(other)).toEqual([]);
});
