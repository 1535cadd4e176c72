import type { TraceNote } from '../core/conversations/traces.ts';
import type { TraceMessage, TracePart } from '../schema/conversation.ts';
import type { ErrorShape } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';

/** One log message about a call of a subagent. */
export interface SubagentLog {
  level: 'debug' | 'info' | 'warning' | 'error';
  data: { event: SubagentEvent } & Record<string, unknown>;
}
type SubagentEvent = 'tool_call' | 'tool_result' | 'response' | 'message_saved';

/** These are signs of what is going on; the conversation itself is kept, whole. In characters of JSON. */
const LONGEST = 4_000;

/** What a client is told of what was said in the run, or became of it. */
export function subagentLogs(runId: RunId, note: TraceNote): SubagentLog[] {
  if (note.kind === 'message') return note.message.content.flatMap(part => ofPart(runId, note.message, part));
  const { messageId } = note;
  if (note.kind === 'failed')
    return [
      { level: 'warning', data: { event: 'message_saved', runId, messageId, error: note.error.message } },
    ];
  const { role, parentId } = note;
  return [{ level: 'info', data: { event: 'message_saved', runId, messageId, role, parentId } }];
}

export const failureLog = ({ code, message, details }: ErrorShape): SubagentLog => ({
  level: 'error',
  data: {
    event: 'response',
    ...(details?.run_id !== undefined && { runId: details.run_id }),
    error: { code, message },
  },
});

function ofPart(runId: RunId, { role }: TraceMessage, part: TracePart): SubagentLog[] {
  if (part.type === 'tool_call') {
    const { id, name, input } = part;
    const call = { runId, id, name, ...place(part), ...short('input', input) };
    return [{ level: 'info', data: { event: 'tool_call', ...call } }];
  }
  if (part.type === 'tool_result') {
    const { id, name, output, isError } = part;
    const result = { runId, id, name, ...place(part), isError, ...short('output', output) };
    return [{ level: isError ? 'warning' : 'info', data: { event: 'tool_result', ...result } }];
  }
  if (part.type === 'more_calls') {
    const { within, calls, failed } = part;
    return [{ level: 'info', data: { event: 'tool_call', runId, within, moreCalls: calls, failed } }];
  }
  // Whoever calls knows what it said itself.
  if (role !== 'assistant' || part.type === 'file') return [];
  if (part.type === 'reasoning')
    return [{ level: 'debug', data: { event: 'response', runId, ...short('reasoning', part.text) } }];
  return [{ level: 'info', data: { event: 'response', runId, ...short('text', part.text) } }];
}

/** Of a call that a program made: the call that ran the program. */
const place = ({ within }: { within?: string }) => (within === undefined ? {} : { within });

/** Whole if it is short; else the beginning of its JSON, and that it is no more than that. */
function short(field: string, value: unknown): Record<string, unknown> {
  const json = JSON.stringify(value) ?? 'null';
  if (json.length <= LONGEST) return { [field]: value };
  const text = typeof value === 'string' ? value : json;
  return { [field]: `${text.slice(0, LONGEST).toWellFormed()}…`, truncated: true };
}
