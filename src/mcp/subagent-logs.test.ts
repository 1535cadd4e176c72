import { expect, test } from 'vitest';
import type { TraceMessage, TracePart, TraceRole } from '../schema/conversation.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import { failureLog, subagentLogs } from './subagent-face.ts';

const runId = 'run_0000000000' as RunId;
const logs = (role: TraceRole, ...content: TracePart[]) => {
  const message: TraceMessage = { id: 'msg_0000000001', parentId: null, role, content, at: 0 };
  return subagentLogs(runId, { kind: 'message', message });
};

test('thoughts of a model are debug messages, its texts and calls are info messages', () => {
  const input = { a: 1 };
  expect(
    logs(
      'assistant',
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'So.' },
      { type: 'tool_call', id: '1', name: 'x', input },
    ),
  ).toEqual([
    { level: 'debug', data: { event: 'response', runId, reasoning: 'Hm.' } },
    { level: 'info', data: { event: 'response', runId, text: 'So.' } },
    { level: 'info', data: { event: 'tool_call', runId, id: '1', name: 'x', input } },
  ]);
});

test('a tool that fails is a warning: the model may know what to do', () => {
  const result = { type: 'tool_result' as const, id: '1', name: 'x', output: 'no' };
  expect(logs('tool', { ...result, isError: true }, { ...result, isError: false })).toEqual([
    {
      level: 'warning',
      data: { event: 'tool_result', runId, id: '1', name: 'x', isError: true, output: 'no' },
    },
    {
      level: 'info',
      data: { event: 'tool_result', runId, id: '1', name: 'x', isError: false, output: 'no' },
    },
  ]);
});

test('a call of a program is logged like any other, with the call that ran the program', () => {
  const call = { id: 'p.1', name: 'x', within: 'p' };
  expect(
    logs(
      'program',
      { type: 'tool_call', ...call, input: {}, at: 1 },
      { type: 'tool_result', ...call, output: 'no', isError: true, at: 2 },
      { type: 'more_calls', within: 'p', calls: 7, failed: 2 },
    ),
  ).toEqual([
    { level: 'info', data: { event: 'tool_call', runId, ...call, input: {} } },
    { level: 'warning', data: { event: 'tool_result', runId, ...call, output: 'no', isError: true } },
    { level: 'info', data: { event: 'tool_call', runId, within: 'p', moreCalls: 7, failed: 2 } },
  ]);
});

test('messages of the caller are not logged', () => {
  expect(logs('user', { type: 'text', text: 'Do it.' })).toEqual([]);
  expect(logs('system', { type: 'text', text: 'You are.' })).toEqual([]);
});

test.each([
  ['text', 'x'.repeat(9_000)],
  ['a value', { rows: Array.from({ length: 3_000 }, (_, i) => i) }],
])('of %s that is long the beginning is logged, and that there is more', (_, output) => {
  const [log] = logs('tool', { type: 'tool_result', id: '1', name: 'x', output, isError: false });
  expect(log!.data.truncated).toBe(true);
  expect(JSON.stringify(log).length).toBeLessThan(6_000);
});

test('a stored message is logged with its place, a failed one with the reason', () => {
  const saved = { messageId: 'msg_2', role: 'assistant' as const, parentId: 'msg_1' };
  expect(subagentLogs(runId, { kind: 'saved', ...saved })).toEqual([
    { level: 'info', data: { event: 'message_saved', runId, ...saved } },
  ]);
  const error = new SquadError('DATABASE_LOCKED', 'It is locked');
  expect(subagentLogs(runId, { kind: 'failed', messageId: 'msg_2', error })).toEqual([
    { level: 'warning', data: { event: 'message_saved', runId, messageId: 'msg_2', error: 'It is locked' } },
  ]);
});

test('a call that fails is an error, with its code', () => {
  const error = new SquadError('TIMEOUT', 'Too late', { details: { run_id: runId } }).toShape();
  expect(failureLog(error)).toEqual({
    level: 'error',
    data: { event: 'response', runId, error: { code: 'TIMEOUT', message: 'Too late' } },
  });
});
