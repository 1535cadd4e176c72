import { expect, test } from 'vitest';
import { type Message, type Nested, type Part, talkOf } from './conversation-entries.ts';

const said = (id: string, parentId: string | null, role: Message['role'], ...content: Part[]): Message =>
  ({ id, parentId, role, content, at: Number(id.slice(1)), runId: 'run_1', label: 'x' }) as Message;
const call = (id: string, name = 'files__read'): Part => ({ type: 'tool_call', id, name, input: {} });
const result = (id: string): Part => ({
  ...{ type: 'tool_result', id, name: 'files__read', output: 'x', isError: false },
});
const MORE = { type: 'more_calls' as const, within: 'call_0', calls: 1, failed: 0 };
const text = (words: string): Part => ({ type: 'text', text: words });

test('the result of a tool stands with its call, and its message is no row', () => {
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

test('a call of a program stands with the call that ran it, each with its result and what it started', () => {
  const made = (id: string, at: number): Part => ({ ...call(id, 'docs__ask'), within: 'p', at }) as Part;
  const came = (id: string): Part => ({ ...result(id), within: 'p', at: 9 }) as Part;
  const more: Part = { ...MORE, within: 'p', calls: 7 };
  const nested = { id: 'run_2', subagent: 'ask', title: 't', status: 'running', createdAt: 5 } as Nested;
  const rows = talkOf(
    [
      said('m1', null, 'assistant', call('p', 'run_program')),
      said('m2', 'm1', 'program', made('p.1', 2)),
      said('m3', 'm1', 'program', came('p.1'), made('p.2', 10), more),
      said('m4', 'm1', 'tool', result('p')),
      said('m5', 'm4', 'assistant', text('done')),
    ],
    [nested],
  );
  expect(rows.map(({ id, hasGap }) => [id, hasGap])).toEqual([
    ['m1', false],
    ['m5', false],
  ]);
  expect(rows[0]!.parts).toMatchObject([
    {
      kind: 'call',
      answer: { messageId: 'm4' },
      nested: [],
      made: {
        calls: [
          { call: { id: 'p.1' }, messageId: 'm2', answer: { messageId: 'm3' }, nested: [{ id: 'run_2' }] },
          { call: { id: 'p.2' }, messageId: 'm3', answer: null, nested: [] },
        ],
        more: { calls: 7 },
      },
    },
  ]);
});

test('a call of a program whose own call is not here is a row of its own', () => {
  const made = { ...call('p.1'), within: 'p', at: 2 } as Part;
  const rows = talkOf([said('m2', 'm1', 'program', made)], []);
  expect(rows).toMatchObject([{ id: 'm2', role: 'program', parts: [{ kind: 'call', call: { id: 'p.1' } }] }]);
});

test('calls that are numbered anew in each turn of the model are different calls, in programs too', () => {
  const turn = (n: number): Message[] => {
    const [called, program, answered] = [`m${n}1`, `m${n}2`, `m${n}3`];
    const made = { ...call('call_0.1', 'docs__ask'), input: { n }, within: 'call_0', at: n } as Part;
    const came = { ...result('call_0.1'), output: n, within: 'call_0', at: n } as Part;
    return [
      said(called, n === 1 ? null : `m${n - 1}3`, 'assistant', call('call_0', 'run_program')),
      said(program, called, 'program', made, came, { ...MORE, calls: n }),
      said(answered, called, 'tool', result('call_0')),
    ];
  };
  const rows = talkOf([...turn(1), ...turn(2)], []);
  expect(rows.map(({ parts }) => parts)).toMatchObject(
    [1, 2].map(n => [
      {
        answer: { messageId: `m${n}3` },
        made: {
          calls: [{ call: { input: { n } }, messageId: `m${n}2`, answer: { result: { output: n } } }],
          more: { calls: n },
        },
      },
    ]),
  );
});
