import type { TraceNote } from '../core/conversations/traces.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { dispatch } from '../operations/dispatch.ts';
import type { Operation, UserServices } from '../operations/operation.ts';
import {
  runSubagent,
  type SubagentAnswer,
  type SubagentPorts,
} from '../operations/subagents/run-subagent.ts';
import { asSquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { Subagent } from '../schema/subagent.ts';
import { toolError } from '../schema/tool-error.ts';
import type { Call, Face, JsonObjectSchema, ToolDef, ToolResult } from '../wire/face/face.ts';
import { clientName } from './client-name.ts';
import { failureLog, type SubagentLog, subagentLogs } from './subagent-logs.ts';
import { toolDefinition } from './tool-list.ts';

export interface SubagentFaceOptions extends Omit<SubagentPorts, 'services'> {
  services: UserServices;
  version: string;
  caller: Caller;
  subagent: Subagent;
  /** What is said in a run, as it is said. Returns how to stop. */
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
        // Nobody waits for the answer of a call that is taken back, and then it is what tells that the call is gone.
        options.onLeaving(answered);
        return answered;
      },
    },
  };
}

/** Its answer fits the schema of its file or is an error: nothing is taken from what that promises. */
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
  let deaf = () => {};
  try {
    const { text, structured } = (await dispatch(operation, args, {
      services,
      caller: { ...caller, client: clientName(call) },
      signal: AbortSignal.any([call.signal, stopping]),
      waitMs: null,
      progress: message => call.progress(message),
      onStarted: ([run]) => {
        if (run) deaf = listen(run.id, note => subagentLogs(run.id, note).forEach(log));
      },
      emit: () => {},
    })) as SubagentAnswer;
    if (structured === undefined) return { raw: { content: [{ type: 'text', text }] } };
    return { structured: structured as Record<string, unknown> };
  } catch (thrown) {
    const error = asSquadError(thrown).toShape();
    log(failureLog(error));
    // As text alone: structured content would have to fit the schema of the answer.
    const text = JSON.stringify(toolError(error, subagent.name, caller.parent?.id));
    return { raw: { content: [{ type: 'text', text }], isError: true } };
  } finally {
    deaf();
  }
}
