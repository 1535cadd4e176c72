import type { GatewayView } from '../core/ports/gateway.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { fillTemplate } from '../core/roles/prompt.ts';
import { dispatch, recordToolCall } from '../operations/dispatch.ts';
import type { Operation, Services, UserServices } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { asSquadError, flatError, SquadError, toolError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Toolset } from '../schema/toolset.ts';
import { waitCeilingMs } from '../wire/face/client-of.ts';
import type { Call, Face, ToolResult } from '../wire/face/face.ts';
import { noTaskSupport } from '../wire/face/face-tasks.ts';
import {
  askWhileWaiting,
  ClientRoots,
  clientName,
  inputRequired,
  ROOTS_KEY,
  showsForms,
  takeResponses,
} from './client-questions.ts';
import type { EndNotices } from './notices.ts';
import { resources } from './resources.ts';
import { continueTask, taskState, tasks } from './tasks.ts';
import { completeAgentName } from './team-resources.ts';
import { toolsOf } from './tools.ts';
import { withServers } from './with-servers.ts';

/**
 * Instructions that a client's model reads before it sees the tools. At most 2 KB, because some clients cut them there.
 */
export const INSTRUCTIONS = `Squad runs coding agents as separate processes in this workspace. Use it instead of a sub-agent tool of your own.

- One task: spawn_agent (any engine; roleId gives it a role), or spawn_claude / spawn_codex where listed.
- Several independent tasks: spawn_parallel.
- A team, each member with its role and task: start_squad_members. list_roles has the roles.
- Not to wait: async: true, then get_result {spawn_id or squad_id, wait_seconds}.
- In a project with a team: squad_decision_search before you decide anew; squad_status for what runs and what it costs.

An agent sees its prompt, its role and the project's documents, not this conversation: say all it needs. Agents that run together need separate files or folders.

Status "running" or "queued": the agents go on; call get_result until they have ended. "asks": put the question to the user and call answer_question. Losing a call never stops an agent; cancel_run does, with all it started. list_running shows every run of this workspace.

permission: read, edit (default) or full. "advisory" in a result names limits that only the agent's instructions hold.

"completed" is the agent's own word. evidence.verdict is what Squad saw: verified (something changed), claimed (words only), empty or contradicted. Look at the files before you build on it. null: unknown. Reports headed SETUP / ENVIRONMENT ISSUES are for the user: pass them on.`;

/** Instructions for agents. `ask` is the name of the tool that asks a person. */
const agentInstructions = (ask: string) =>
  `You are an agent that Squad runs. squad_status says where you stand: your run, the time and budget you have left, and how those you work with are doing. squad_decision_search finds what the team has decided: look before you decide anew. ${ask} puts a question to a person and waits for the answer: use it for what is theirs to decide or cannot be undone, and go on by yourself with the rest. If you have tools to start agents, they see their role and the task you give them, not your conversation, and you see only what you started. Work on your own task; your final answer is your report.`;

/** Prompts for a person to choose from, written in Markdown files. */
function prompts({ workspaces }: Services, caller: Caller): NonNullable<Face['prompts']> {
  const usable = async () =>
    (await workspaces.templates(caller, 'prompt')).filter(({ fault }) => fault === null);
  return {
    list: async () =>
      (await usable()).map(({ name, description, arguments: taken }) => ({
        name,
        description,
        arguments: taken.map(({ name, description, required }) => ({ name, description, required })),
      })),
    async get(name, given) {
      const prompt = (await usable()).find(candidate => candidate.name === name);
      if (!prompt) return null;
      const text = fillTemplate(prompt, given);
      return {
        description: prompt.description,
        messages: [{ role: 'user', content: { type: 'text', text } }],
      };
    },
  };
}

export interface McpFaceOptions {
  services: UserServices;
  version: string;
  transport: 'stream' | 'http';
  /** Caller without the client's name, because the name comes with each call. */
  caller: Caller;
  /** Toolsets that the client requested. Null if it named none. */
  toolsets: readonly Toolset[] | null;
  notices: Pick<EndNotices, 'watch'>;
  /** Called when the client has sent its roots, because no workspace was set. */
  onRoots?(caller: Caller): void;
  /** The other MCP servers that a run may use. */
  serversOf(id: RunId): GatewayView | null;
}

/** Squad for one MCP client: tools, and for the user's own clients also prompts and tasks. */
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
      ? agentInstructions(toolsOf(services, caller, toolsets).nameOf('ask_user'))
      : INSTRUCTIONS,
    tools: {
      list: async peer => toolsOf(services, await roots.caller(peer), toolsets).list(),
      async call(name, args, call) {
        const placed = await roots.caller(call);
        const operation = await toolsOf(services, placed, toolsets).find(name);
        const from = traced({ ...placed, client: clientName(call) }, call);
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
        // The caller gets the same answer for unknown and denied tools. Only the event, which the user sees,
        // distinguishes them.
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
    // Agents get no prompts, tasks and log messages, because these handlers do not check what an agent may see.
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

/** The trace of the call continues in the runs that it starts. Clients send it as `_meta.traceparent`. */
function traced(caller: Caller, { raw }: Call): Caller {
  const traceparent = raw.mcpReq._meta?.traceparent;
  if (typeof traceparent !== 'string' || !/^[\da-f]{2}(-[\da-f]+){3}$/.test(traceparent)) return caller;
  return { ...caller, env: { ...caller.env, TRACEPARENT: traceparent } };
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
  const { continues } = round;
  const acting =
    continues === null ? operation : { ...operation, run: (inner: Inner) => continueTask(inner, continues) };
  const askPerson = caller.parent === null ? askWhileWaiting(services, call) : null;
  const asked: InboxItem[] = [];
  const warnings: string[] = [];
  let isError = false;
  const result = await dispatch(acting, args, {
    services,
    caller,
    signal: call.signal,
    // After a form was closed the call does not wait: the model gets the state at once.
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

const FIRST_ROUND = { continues: null, isAnswered: true };

/** Returns the state of a repeated call. Such a call has the client's answers and continues the first one. */
async function roundOf({ tool }: Operation, { raw }: Call, caller: Caller, services: UserServices) {
  if (raw.mcpReq.inputResponses === undefined) return FIRST_ROUND;
  // Roots are requested before anything is started.
  const { [ROOTS_KEY]: roots, ...inputResponses } = raw.mcpReq.inputResponses;
  if (roots !== undefined && Object.keys(inputResponses).length === 0) return FIRST_ROUND;
  const state = raw.mcpReq.requestState();
  const continues = typeof state === 'string' ? state : null;
  // The call is refused, because otherwise everything would be started a second time.
  if (continues === null && tool?.task)
    throw new SquadError('INVALID_INPUT', 'The call has answers but no requestState', {
      suggestions: ['Send back the requestState that came with the question.'],
    });
  return { continues, isAnswered: await takeResponses(services, caller, { ...inputResponses }) };
}

/** Turns an error into a result that the model can read and act on. */
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
