import type { GatewayView } from '../core/ports/gateway.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { dispatch, recordToolCall } from '../operations/dispatch.ts';
import type { Operation, UserServices } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import { flatError, toolError } from '../schema/tool-error.ts';
import type { Toolset } from '../schema/toolset.ts';
import { waitCeilingMs } from '../wire/face/client-ceiling.ts';
import type { Call, Face, ToolResult } from '../wire/face/face.ts';
import { noTaskSupport } from '../wire/http/legacy-tasks.ts';
import { askWhileWaiting, inputRequired, showsForms, takeResponses } from './client-asks.ts';
import { clientName } from './client-name.ts';
import { ClientRoots, ROOTS_KEY } from './client-roots.ts';
import type { EndNotices } from './end-notices.ts';
import { agentInstructions, INSTRUCTIONS } from './instructions.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';
import { continueTask, taskState, tasks } from './tasks.ts';
import { completeAgentName } from './team-resources.ts';
import { Tools } from './tools.ts';
import { withServers } from './with-servers.ts';

export interface McpFaceOptions {
  services: UserServices;
  version: string;
  transport: 'stream' | 'http';
  /** Everything about the caller but its client's name, which comes with each call. */
  caller: Caller;
  /** Null: the client named none. */
  toolsets: readonly Toolset[] | null;
  notices: Pick<EndNotices, 'watch'>;
  /** The client has said which roots it has, for want of another workspace. */
  onRoots?(caller: Caller): void;
  /** What a run has of other servers. */
  serversOf(id: RunId): GatewayView | null;
}

/** Squad for one MCP client: the operations that are tools, and for the user's own clients what goes with them. */
export function mcpFace(options: McpFaceOptions): Face {
  const { parent } = options.caller;
  const own = ownFace(options);
  return parent && !parent.isServer ? withServers(own, () => options.serversOf(parent.id)) : own;
}

function ownFace(options: McpFaceOptions): Face {
  const { services, version, caller, toolsets } = options;
  const roots = new ClientRoots(services.workspaces, caller, options.onRoots);
  const listed = resources(services, caller);
  return {
    info: { name: 'squad', title: 'Squad', version },
    instructions: caller.parent
      ? agentInstructions(new Tools(services, caller, toolsets).nameOf('ask_user'))
      : INSTRUCTIONS,
    tools: {
      list: async peer => new Tools(services, await roots.caller(peer), toolsets).list(),
      async call(name, args, call) {
        const placed = await roots.caller(call);
        const operation = await new Tools(services, placed, toolsets).find(name);
        const from = { ...placed, client: clientName(call) };
        if (operation && call.asTask) return run(operation, args, call, from, options);
        if (operation)
          return answer(
            () =>
              run(operation, args, call, from, options).catch(async thrown => {
                const asked = await roots.request(call, thrown);
                if (asked) return asked;
                throw thrown;
              }),
            operation,
            name,
            from,
          );
        // The caller cannot tell them apart; the user, who reads the events, can.
        const isDenied = caller.parent && OPERATIONS.some(candidate => candidate.name === name);
        const code = isDenied ? 'NOT_ALLOWED' : 'UNKNOWN_OPERATION';
        await recordToolCall({ services, caller: from }, name, code, services.clock.monotonic());
        return null;
      },
    },
    resources: {
      ...listed,
      read: async (uri, call) => resources(services, await roots.caller(call)).read(uri, call),
    },
    complete: async (params, peer) => completeAgentName(services, await roots.caller(peer))(params, peer),
    rootsChanged: () => roots.changed(),
    // An agent has its tools, which know what is its business; these do not.
    ...(caller.parent === null && {
      prompts: {
        list: async peer => prompts(services, await roots.caller(peer)).list(peer),
        get: async (name, args, call) => prompts(services, await roots.caller(call)).get(name, args, call),
      },
      tasks: tasks(services, caller),
      logging: true,
    }),
  };
}

async function run(
  operation: Operation,
  args: Record<string, unknown>,
  call: Call,
  caller: Caller,
  { services, transport, notices }: McpFaceOptions,
): Promise<ToolResult> {
  const task = call.acceptsTasks ? operation.tool?.task : undefined;
  if (call.asTask && !task) throw noTaskSupport(operation.name);
  const ceiling = waitCeilingMs({
    clientName: call.client?.name ?? null,
    transport,
    wantsProgress: call.wantsProgress,
    toolTimeout: caller.env.MCP_TOOL_TIMEOUT,
  });
  const round = caller.parent === null ? await roundOf(operation, call, caller, services) : FIRST_ROUND;
  const { goesOnWith } = round;
  const acting =
    goesOnWith === null
      ? operation
      : { ...operation, run: (inner: Inner) => continueTask(inner, goesOnWith) };
  const askPerson = caller.parent === null ? askWhileWaiting(services, call) : null;
  const asked: InboxItem[] = [];
  const warnings: string[] = [];
  let isError = false;
  const result = await dispatch(acting, args, {
    services,
    caller,
    signal: call.signal,
    // A person who closed the form is no reason to wait: the model is told.
    waitMs: task || !round.isAnswered ? 0 : ceiling,
    ceilingMs: ceiling,
    progress: message => call.progress(message),
    onStarted: (runs, about) => {
      notices.watch(runs, call.audience);
      warnings.push(...about);
    },
    ...(askPerson && { askPerson }),
    isByModel: true,
    onAsked: items => asked.push(...items),
    onFailed: () => {
      isError = true;
    },
    emit: () => {},
  });
  if (asked.length > 0 && caller.parent === null && call.era === 'modern' && showsForms(call)) {
    const open = operation.tool?.task?.(result, args);
    return inputRequired(services, asked, open?.isOpen ? open.id : null);
  }
  if (operation.tool?.textOnly) return { raw: { content: [{ type: 'text', text: JSON.stringify(result) }] } };
  const made = task?.(result, args);
  const state =
    made && (made.isOpen || call.asTask)
      ? await taskState(services, made.id, { tool: operation.name })
      : null;
  if (!state) return { structured: result as Record<string, unknown>, isError };
  return { task: { ...state, statusMessage: [...warnings, state.statusMessage].join(' ') } };
}

type Inner = Parameters<Operation['run']>[0];

const FIRST_ROUND = { goesOnWith: null, isAnswered: true };

/** A call that comes again with what its client was asked brings answers, and goes on with what it had started. */
async function roundOf({ tool }: Operation, { raw }: Call, caller: Caller, services: UserServices) {
  if (raw.mcpReq.inputResponses === undefined) return FIRST_ROUND;
  // Roots are asked for before anything is started.
  const { [ROOTS_KEY]: roots, ...inputResponses } = raw.mcpReq.inputResponses;
  if (roots !== undefined && Object.keys(inputResponses).length === 0) return FIRST_ROUND;
  const state = raw.mcpReq.requestState();
  const goesOnWith = typeof state === 'string' ? state : null;
  // Else what it had started would be started once more.
  if (goesOnWith === null && tool?.task)
    throw new SquadError('INVALID_INPUT', 'This answers a question and does not say of which call', {
      suggestions: ['Send back the requestState that came with the question.'],
    });
  return { goesOnWith, isAnswered: await takeResponses(services, caller, { ...inputResponses }) };
}

/** A refusal is a result the model can read and act on, not a broken call. */
async function answer(
  work: () => Promise<ToolResult>,
  operation: Operation,
  name: string,
  { parent }: Caller,
): Promise<ToolResult> {
  try {
    return await work();
  } catch (thrown) {
    const error = asSquadError(thrown).toShape();
    const shape = operation.tool?.forAgents ? flatError : toolError;
    return { structured: shape(error, name, parent?.id), isError: true };
  }
}
