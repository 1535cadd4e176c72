import type { Handshake } from '../link/handshake.ts';
import { SquadError } from '../schema/error.ts';
import { RunId, type SquadId } from '../schema/ids.ts';
import type { AgentType } from '../schema/review.ts';
import type { Permission, Run } from '../schema/run.ts';
import type { Worktree } from '../schema/worktree.ts';
import { bearerOf } from './token.ts';

/** Structurally the core's `Caller`. */
export interface Caller {
  client: string | null;
  cwd: string | null;
  workspace: string | null;
  env: Record<string, string>;
  parent: {
    id: RunId;
    squadId: SquadId;
    depth: number;
    type: AgentType | null;
    reviewOf: RunId | null;
    lineageId: RunId | null;
    isProven: boolean;
    spawn: boolean;
    isSubagent?: true;
    isServer?: true;
    approvals?: true;
    records: boolean;
    permission: Permission;
    worktree: Worktree | null;
    tools: readonly string[] | null;
  } | null;
}

export interface CallerPorts {
  liveRuns(): Run[];
  /** Also one that has ended. */
  run(id: RunId): Promise<Run | null>;
  /** What its agent was given. */
  environment(id: RunId): Promise<Record<string, string>>;
  runOfProcess(pid: number): Promise<{ runId: string; isProven: boolean } | null>;
  /** Whether a process that is in no run, or only marked as in one, is certainly the user's. */
  isUsers(pid: number): Promise<boolean>;
}

/**
 * Identifies the client on the hub's socket. Throws NOT_ALLOWED for an identity that is not theirs. `isKnown`: the hub has seen for
 * itself that the client is the process it names. Otherwise its word can only take rights away.
 */
export async function callerOfHandshake(
  hello: Handshake,
  ports: CallerPorts,
  isKnown = true,
): Promise<Caller> {
  const found = await runAround(hello, ports);
  if (!isKnown && (hello.token !== undefined || !found)) throw unknownProcess();
  const around = found && { ...found, isProven: found.isProven && isKnown };
  const asking = hello.token === undefined ? around : await bearer(hello.token, hello.pid, around, ports);
  const run = asking?.run;
  const client = hello.view === 'control' ? 'terminal' : null;
  if (!run)
    return { client, cwd: hello.cwd, workspace: hello.workspace ?? null, env: hello.env, parent: null };
  const caller = await callerOfRun(run, ports, asking?.isProven);
  // How long a client waits is its own affair.
  const { MCP_TOOL_TIMEOUT } = hello.env;
  return {
    ...caller,
    ...(caller.parent && around?.isServer && { parent: { ...caller.parent, isServer: true as const } }),
    client,
    cwd: hello.cwd,
    env: {
      ...caller.env,
      // A subagent works in what its server was started with, which its run has nothing to do with.
      ...(hello.view === 'subagent' && hello.env),
      ...(MCP_TOOL_TIMEOUT !== undefined && { MCP_TOOL_TIMEOUT }),
    },
  };
}

/**
 * An agent, however it asks: in its run's workspace, with its run's environment, so that neither a stripped environment
 * nor a changed one makes what it starts another thing than the user set up. Proven unless said otherwise: it showed its
 * token, or the hub itself asks for it.
 */
export async function callerOfRun(run: Run, ports: CallerPorts, isProven = true): Promise<Caller> {
  const { id, squadId, depth, type, reviewOf, options } = run;
  return {
    client: null,
    cwd: run.directory,
    workspace: run.workspace,
    env: await ports.environment(id),
    parent: {
      ...{ id, squadId, depth, type, reviewOf, isProven },
      lineageId: await taskOf(run, ports),
      ...{ spawn: options.spawn, permission: options.permission, tools: options.tools },
      ...(options.subagent && { isSubagent: true as const }),
      ...(options.approvals === 'ask' && { approvals: true as const }),
      worktree: run.worktree,
      records: options.mcp.includes('squad/squad_decision_record'),
    },
  };
}

const unknownProcess = () =>
  new SquadError('NOT_ALLOWED', 'A client has to prove which process it is, and this one did not', {
    suggestions: [
      "Use Squad's own programs, as the user whose hub it is, with SQUAD_HOME writable; restart clients that an older version serves.",
    ],
  });

/** The run this client was started in. Where its process is in no run, the mark in the client's environment counts. */
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

/** No chain of parents is longer; a loop in a damaged database would be. */
const MAX_LINE_LENGTH = 100;

/** The task that what it starts is a part of: that of the coder or reviewer it is, or came of. */
async function taskOf(run: Run, ports: CallerPorts): Promise<RunId | null> {
  let above: Run | null = run;
  for (let i = 0; above && i < MAX_LINE_LENGTH; i++) {
    if (above.type === 'coding' || above.reviewOf !== null) return above.lineageId;
    above = above.parentId === null ? null : await ports.run(above.parentId);
  }
  return null;
}

/** Agents can read each other's files: a token counts where its own run shows it, or the user does. */
async function bearer(
  token: string,
  pid: number,
  around: { run: Run; isProven: boolean } | null,
  { liveRuns, isUsers }: CallerPorts,
): Promise<{ run: Run; isProven: boolean }> {
  const run = bearerOf(liveRuns(), token);
  if (!run)
    throw new SquadError('NOT_ALLOWED', 'The identity is not of a run that is at work here', {
      suggestions: ['It ends with its run; Squad gives each turn a new one.'],
    });
  if (around && around.run.id !== run.id)
    throw new SquadError(
      'NOT_ALLOWED',
      `This runs inside run ${around.run.id}, and the identity is another run's`,
      {
        suggestions: ['Use the identity file that Squad gave to this run, or none.'],
      },
    );
  const isProven = around?.isProven === true || (await isUsers(pid));
  if (!around && !isProven)
    throw new SquadError(
      'NOT_ALLOWED',
      "This process is not one of the run whose identity it shows, nor the user's",
      {
        suggestions: ['Start it as a child of the agent, without a session of its own.'],
      },
    );
  return { run, isProven };
}
