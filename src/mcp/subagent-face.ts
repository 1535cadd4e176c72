import type { TraceNote } from '../core/conversations/recorder.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { dispatch } from '../operations/dispatch.ts';
import type { Operation, UserServices } from '../operations/operation.ts';
import {
  runSubagent,
  type SubagentAnswer,
  type SubagentPorts,
} from '../operations/subagents/run-subagent.ts';
import type { TraceMessage, TracePart } from '../schema/conversation.ts';
import { asSquadError, type ErrorShape, toolError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { Subagent } from '../schema/subagent.ts';
import type { Call, Face, JsonObjectSchema, ToolDef, ToolResult } from '../wire/face/face.ts';
import { clientName } from './client-questions.ts';
import { toolDefinition } from './tools.ts';

/** One log message about a call of a subagent. */
interface SubagentLog {
  level: 'debug' | 'info' | 'warning' | 'error';
  data: { event: SubagentEvent } & Record<string, unknown>;
}
type SubagentEvent = 'tool_call' | 'tool_result' | 'response' | 'message_saved';

/** Maximum length of a field in characters of JSON. Logs only show progress; the stored conversation is complete. */
const MAX_FIELD_LENGTH = 4_000;

/** Log messages that a note about the run's conversation becomes. */
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
  // The caller's own messages are skipped, because the caller knows them.
  if (role !== 'assistant' || part.type === 'file') return [];
  if (part.type === 'reasoning')
    return [{ level: 'debug', data: { event: 'response', runId, ...short('reasoning', part.text) } }];
  return [{ level: 'info', data: { event: 'response', runId, ...short('text', part.text) } }];
}

/** Fields that name the call that ran the program, for a call that a program made. */
const place = ({ within }: { within?: string }) => (within === undefined ? {} : { within });

/** Returns a short value unchanged, and the beginning of a long one, marked as truncated. */
function short(field: string, value: unknown): Record<string, unknown> {
  const json = JSON.stringify(value) ?? 'null';
  if (json.length <= MAX_FIELD_LENGTH) return { [field]: value };
  const text = typeof value === 'string' ? value : json;
  return { [field]: `${text.slice(0, MAX_FIELD_LENGTH).toWellFormed()}…`, truncated: true };
}

interface SubagentFaceOptions extends Omit<SubagentPorts, 'services'> {
  services: UserServices;
  version: string;
  caller: Caller;
  subagent: Subagent;
  /** Follows a run's conversation. Returns a function that stops this. */
  listen(id: RunId, listener: (note: TraceNote) => void): () => void;
}

/** A subagent for one MCP client: a server with one tool and nothing else. */
export function subagentFace(options: SubagentFaceOptions): Face {
  const { subagent, version } = options;
  const operation = runSubagent(subagent, options);
  const tools = [toolOf(operation, subagent)];
  return {
    info: { name: subagent.name, version },
    logging: true,
    tools: {
      list: async () => tools,
      call: async (name, args, call) => {
        if (name !== subagent.name) return null;
        const answered = answer(operation, args, call, options);
        // After a cancellation nobody reads the answer; the promise then only shows when the call has ended.
        options.onLeaving(answered);
        return answered;
      },
    },
  };
}

/**
 * Tool of a subagent, with the output schema of the subagent's file. An answer always matches the schema, or is an
 * error.
 */
function toolOf(operation: Operation, { name, outputSchema }: Subagent): ToolDef {
  const { inputSchema, description } = toolDefinition(operation, 'stateless');
  return {
    name,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema: outputSchema as JsonObjectSchema }),
    annotations: { readOnlyHint: false, openWorldHint: true },
  };
}

async function answer(
  operation: Operation,
  args: Record<string, unknown>,
  call: Call,
  { services, caller, subagent, stopping, listen }: SubagentFaceOptions,
): Promise<ToolResult> {
  const log = (message: SubagentLog) => call.log({ ...message, logger: `subagent.${subagent.name}` });
  let stopListening = () => {};
  try {
    const { text, structured } = (await dispatch(operation, args, {
      services,
      caller: { ...caller, client: clientName(call) },
      signal: AbortSignal.any([call.signal, stopping]),
      waitMs: null,
      progress: message => call.progress(message),
      onStarted: ([run]) => {
        if (run) stopListening = listen(run.id, note => subagentLogs(run.id, note).forEach(log));
      },
      emit: () => {},
    })) as SubagentAnswer;
    if (structured === undefined) return { raw: { content: [{ type: 'text', text }] } };
    return { structured: structured as Record<string, unknown> };
  } catch (thrown) {
    const error = asSquadError(thrown).toShape();
    log(failureLog(error));
    // The error contains only text, because structured content would have to match the output schema.
    const text = JSON.stringify(toolError(error, subagent.name, caller.parent?.id));
    return { raw: { content: [{ type: 'text', text }], isError: true } };
  } finally {
    stopListening();
  }
}
