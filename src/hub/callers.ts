import type { Handshake } from '../link/handshake.ts';
import { SquadError } from '../schema/error.ts';
import { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { bearerOf } from './token.ts';

export interface CallerPorts {
  liveRuns(): Run[];
  /** Finds a run, even if it has ended. */
  run(id: RunId): Promise<Run | null>;
  /** Environment of the run's agent. */
  environment(id: RunId): Promise<Record<string, string>>;
  runOfProcess(pid: number): Promise<{ runId: string; isProven: boolean } | null>;
  /**
   * Whether a process certainly belongs to the user. Asked for processes that are in no run, or whose run is not
   * proven.
   */
  isUsers(pid: number): Promise<boolean>;
}

/**
 * Identifies the client on the hub's socket. Throws NOT_ALLOWED for an identity that is not the client's own.
 * `isKnown`: the client has proven which process it is. Without proof, its claims can only reduce its rights.
 */
export async function callerOfHandshake(handshake: Handshake, ports: CallerPorts, isKnown = true) {
  const found = await runAround(handshake, ports);
  if (!isKnown && (handshake.token !== undefined || !found)) throw unknownProcess();
  const around = found && { ...found, isProven: found.isProven && isKnown };
  const asking =
    handshake.token === undefined ? around : await bearer(handshake.token, handshake.pid, around, ports);
  const run = asking?.run;
  const client = handshake.view === 'control' ? (handshake.client ?? 'terminal') : null;
  if (!run)
    return {
      client,
      cwd: handshake.cwd,
      workspace: handshake.workspace ?? null,
      env: handshake.env,
      parent: null,
    };
  const caller = await callerOfRun(run, ports, asking?.isProven);
  // Each client sets its own timeout for a tool call in this variable.
  const { MCP_TOOL_TIMEOUT } = handshake.env;
  return {
    ...caller,
    ...(caller.parent && around?.isServer && { parent: { ...caller.parent, isServer: true as const } }),
    client,
    cwd: handshake.cwd,
    env: {
      ...caller.env,
      // A subagent works in the environment of its server process, not in that of its run.
      ...(handshake.view === 'subagent' && handshake.env),
      ...(MCP_TOOL_TIMEOUT !== undefined && { MCP_TOOL_TIMEOUT }),
    },
  };
}

/**
 * Caller for an agent on any connection. It has the workspace and environment of the agent's run, so that the agent
 * cannot start a run with settings other than the user's. By default the identity counts as proven, because the agent
 * sent its token or the hub itself makes the request.
 */
export async function callerOfRun(run: Run, ports: CallerPorts, isProven = true) {
  const { id, squadId, depth, type, reviewOf, parentId, options } = run;
  return {
    client: null,
    cwd: run.directory,
    workspace: run.workspace,
    env: await ports.environment(id),
    parent: {
      ...{ id, squadId, depth, type, reviewOf, parentId, isProven },
      lineageId: await taskOf(run, ports),
      messages: options.messages,
      ...{ spawn: options.spawn, permission: options.permission, tools: options.tools },
      sandbox: options.sandbox,
      ...(options.subagent && { isSubagent: true as const }),
      ...(options.approvals === 'ask' && { approvals: true as const }),
      worktree: run.worktree,
      ...(options.machine !== null && { machine: options.machine }),
      records: options.mcp.includes('squad/squad_decision_record'),
    },
  };
}

const unknownProcess = () =>
  new SquadError(
    'NOT_ALLOWED',
    'The hub refused this client, because the client did not prove which process it is',
    {
      suggestions: [
        "Connect with Squad's own programs (`squad`, `squad mcp`), as the user who owns the hub.",
        'Check that this user can write to SQUAD_HOME.',
        'After an update of Squad, restart the clients that still use the older version.',
      ],
    },
  );

/** The run that this client was started in. If its process is in no run, the mark in its environment counts. */
async function runAround(
  { pid, env }: Handshake,
  ports: CallerPorts,
): Promise<{ run: Run; isProven: boolean; isServer: boolean } | null> {
  const found = await ports.runOfProcess(pid);
  const candidates = [
    { ...found, isServer: false },
    { runId: env.SQUAD_RUN_ID, isServer: false },
    { runId: env.SQUAD_SERVER_OF, isServer: true },
  ];
  for (const { runId, isProven = false, isServer } of candidates) {
    const id = RunId.safeParse(runId);
    const run = id.success ? await ports.run(id.data) : null;
    if (run) return { run, isProven, isServer };
  }
  return null;
}

/** Maximum number of parents to follow. Only a cycle in a damaged database is longer. */
const MAX_PARENTS = 100;

/** The lineage of this run, if it is a coder or reviewer, or of the coder or reviewer that started it. */
async function taskOf(run: Run, ports: CallerPorts): Promise<RunId | null> {
  let above: Run | null = run;
  for (let i = 0; above && i < MAX_PARENTS; i++) {
    if (above.type === 'coding' || above.reviewOf !== null) return above.lineageId;
    above = above.parentId === null ? null : await ports.run(above.parentId);
  }
  return null;
}

/** Agents can read each other's files, so a token counts only if its own run or the user sends it. */
async function bearer(
  token: string,
  pid: number,
  around: { run: Run; isProven: boolean } | null,
  { liveRuns, isUsers }: CallerPorts,
): Promise<{ run: Run; isProven: boolean }> {
  const run = bearerOf(liveRuns(), token);
  if (!run)
    throw new SquadError('NOT_ALLOWED', 'The identity does not belong to a run that this hub is running', {
      suggestions: [
        'An identity is valid until its run ends. Use the identity file that Squad gave to this turn.',
      ],
    });
  if (around && around.run.id !== run.id)
    throw new SquadError(
      'NOT_ALLOWED',
      `This process is inside run ${around.run.id}, but the identity belongs to another run`,
      {
        suggestions: ['Use the identity file that Squad gave to this run, or none.'],
      },
    );
  const isProven = around?.isProven === true || (await isUsers(pid));
  if (!around && !isProven)
    throw new SquadError(
      'NOT_ALLOWED',
      'This process belongs neither to the run whose identity it shows nor to the user',
      {
        suggestions: ['Start the process as a child of the agent, and not in a new session (setsid).'],
      },
    );
  return { run, isProven };
}
