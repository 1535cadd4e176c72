import type { Caller } from '../core/ports.ts';
import { dispatch, recordToolCall } from '../operations/dispatch.ts';
import type { Services } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/table.ts';
import { asSquadError } from '../schema/error.ts';
import { waitCeilingMs } from '../wire/client-ceiling.ts';
import type { Call, Face, ToolResult } from '../wire/face.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { toolList } from './tool-list.ts';

export interface McpFaceOptions {
  services: Services;
  version: string;
  transport: 'stream' | 'http';
  /** Everything about the caller but its client's name, which comes with each call. */
  caller: Caller;
}

/** The operations that are tools, for one MCP client. */
export function mcpFace({ services, version, transport, caller }: McpFaceOptions): Face {
  return {
    info: { name: 'squad', title: 'Squad', version },
    instructions: INSTRUCTIONS,
    tools: {
      list: async () => toolList(await stateMode(services, caller)),
      async call(name, args, call) {
        const operation = OPERATIONS.find(candidate => candidate.tool !== null && candidate.name === name);
        const from = { ...caller, client: clientName(call) };
        if (!operation) {
          await recordToolCall({ services, caller: from }, name, 'UNKNOWN_OPERATION', services.clock.now());
          return null;
        }
        return answer(() =>
          dispatch(operation, args, {
            services,
            caller: from,
            signal: call.signal,
            waitMs: waitCeilingMs({
              clientName: call.client?.name ?? null,
              transport,
              wantsProgress: call.wantsProgress,
              toolTimeout: caller.env.MCP_TOOL_TIMEOUT,
            }),
            progress: message => call.progress(message),
            emit: () => {},
          }),
        );
      },
    },
  };
}

/** A refusal is a result the model can read and act on, not a broken call. */
async function answer(work: () => Promise<unknown>): Promise<ToolResult> {
  try {
    return { structured: (await work()) as Record<string, unknown> };
  } catch (thrown) {
    return { structured: { error: asSquadError(thrown).toShape() }, isError: true };
  }
}

const clientName = (call: Call) =>
  call.client ? `${call.client.name} ${call.client.version}`.slice(0, 100) : null;

/** A workspace that cannot be read still has tools: the call then says what is wrong. */
async function stateMode(services: Services, caller: Caller) {
  try {
    return (await services.workspaces.open(caller)).config.stateMode.value;
  } catch {
    return 'stateless';
  }
}
