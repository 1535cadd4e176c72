import type { TraceNote } from '../core/traces.ts';
import type { ErrorShape } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { TraceMessage, TracePart } from '../schema/trace.ts';

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
    return [{ level: 'info', data: { event: 'tool_call', runId, id, name, ...short('input', input) } }];
  }
  if (part.type === 'tool_result') {
    const { id, name, output, isError } = part;
    const data = { event: 'tool_result' as const, runId, id, name, isError, ...short('output', output) };
    return [{ level: isError ? 'warning' : 'info', data }];
  }
  // Whoever calls knows what it said itself.
  if (role !== 'assistant' || part.type === 'file') return [];
  if (part.type === 'reasoning')
    return [{ level: 'debug', data: { event: 'response', runId, ...short('reasoning', part.text) } }];
  return [{ level: 'info', data: { event: 'response', runId, ...short('text', part.text) } }];
}

/** Whole if it is short; else the beginning of its JSON, and that it is no more than that. */
function short(field: string, value: unknown): Record<string, unknown> {
  const json = JSON.stringify(value) ?? 'null';
  if (json.length <= LONGEST) return { [field]: value };
  const text = typeof value === 'string' ? value : json;
  return { [field]: `${text.slice(0, LONGEST).toWellFormed()}…`, truncated: true };
}
