import { expect, test } from 'vitest';
import { type Message, type Nested, type Part, talkOf } from './talk.ts';

const said = (id: string, parentId: string | null, role: Message['role'], ...content: Part[]): Message =>
  ({ id, parentId, role, content, at: Number(id.slice(1)), runId: 'run_1', label: 'x' }) as Message;
const call = (id: string, name = 'files__read'): Part => ({ type: 'tool_call', id, name, input: {} });
const result = (id: string): Part => ({
  ...{ type: 'tool_result', id, name: 'files__read', output: 'x', isError: false },
});
const text = (words: string): Part => ({ type: 'text', text: words });

test('what a tool gave back stands with its call, and the message of the tool is no row', () => {
  const rows = talkOf(
    [
      said('m1', null, 'assistant', text('I look'), call('a'), call('b')),
      said('m2', 'm1', 'tool', result('a')),
      said('m3', 'm2', 'assistant', text('done')),
    ],
    [],
  );
  expect(rows.map(({ id }) => id)).toEqual(['m1', 'm3']);
  expect(rows[0]!.parts).toMatchObject([
    { kind: 'part' },
    { kind: 'call', answer: { messageId: 'm2', result: { id: 'a' } } },
    { kind: 'call', answer: null },
  ]);
  expect(rows.some(({ hasGap }) => hasGap)).toBe(false);
});

test('an answer without its call, and a message without the one before it, are shown as such', () => {
  const rows = talkOf([said('m1', null, 'user', text('go')), said('m3', 'm2', 'tool', result('a'))], []);
  expect(rows[1]).toMatchObject({ hasGap: true, parts: [{ kind: 'answer', answer: { messageId: 'm3' } }] });
});

test('a run stands with the call that started it', () => {
  const nested = { id: 'run_2', subagent: 'ask', title: 't', status: 'running', createdAt: 1 } as Nested;
  const rows = talkOf([said('m1', null, 'assistant', call('a', 'docs__ask'))], [nested]);
  expect(rows[0]!.parts).toMatchObject([{ kind: 'call', nested: [{ id: 'run_2' }] }]);
});
