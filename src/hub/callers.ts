import type { Hello } from '../link/hello.ts';
import { SquadError } from '../schema/error.ts';
import { RunId, type SquadId } from '../schema/ids.ts';
import type { AgentType } from '../schema/review.ts';
import type { Permission, Run } from '../schema/run.ts';
import type { Worktree } from '../schema/worktree.ts';
import { bearerOf } from './run-tokens.ts';

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
    spawn: boolean;
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
  runOfProcess(pid: number): Promise<string | null>;
}

/** Who speaks on the hub's socket. Throws NOT_ALLOWED for an identity that is not theirs. */
export async function callerOfHello(hello: Hello, ports: CallerPorts): Promise<Caller> {
  const around = await runAround(hello, ports);
  const run = hello.token === undefined ? around : bearer(hello.token, around, ports);
  const client = hello.view === 'control' ? 'terminal' : null;
  if (!run)
    return { client, cwd: hello.cwd, workspace: hello.workspace ?? null, env: hello.env, parent: null };
  const caller = await callerOfRun(run, ports);
  // How long a client waits is its own affair.
  const { MCP_TOOL_TIMEOUT } = hello.env;
  return {
    ...caller,
    client,
    cwd: hello.cwd,
    env: { ...caller.env, ...(MCP_TOOL_TIMEOUT !== undefined && { MCP_TOOL_TIMEOUT }) },
  };
}

/**
 * An agent, however it asks: in its run's workspace, with its run's environment, so that neither a stripped environment
 * nor a changed one makes what it starts another thing than the user set up.
 */
export async function callerOfRun(run: Run, { environment }: CallerPorts): Promise<Caller> {
  const { id, squadId, depth, type, reviewOf, options } = run;
  return {
    client: null,
    cwd: run.directory,
    workspace: run.workspace,
    env: await environment(id),
    parent: {
      ...{ id, squadId, depth, type, reviewOf },
      ...{ spawn: options.spawn, permission: options.permission, tools: options.tools },
      worktree: run.worktree,
      records: options.mcp.includes('squad/squad_decision_record'),
    },
  };
}

/**
 * The run this client was started in. The kernel does not tell Node who is at the other end, so the process is the one the
 * client names; where that one is in no run, the mark in the client's environment counts.
 */
async function runAround({ pid, env }: Hello, ports: CallerPorts): Promise<Run | null> {
  const found = ports.liveRuns().length > 0 ? await ports.runOfProcess(pid) : null;
  for (const name of [found, env.SQUAD_RUN_ID]) {
    const id = RunId.safeParse(name);
    const run = id.success ? await ports.run(id.data) : null;
    if (run) return run;
  }
  return null;
}

function bearer(token: string, around: Run | null, { liveRuns }: CallerPorts): Run {
  const run = bearerOf(liveRuns(), token);
  if (!run)
    throw new SquadError('NOT_ALLOWED', 'The identity is not of a run that is at work here', {
      suggestions: ['It ends with its run; Squad gives each turn a new one.'],
    });
  if (around && around.id !== run.id)
    throw new SquadError(
      'NOT_ALLOWED',
      `This runs inside run ${around.id}, and the identity is another run's`,
      {
        suggestions: ['Use the identity file that Squad gave to this run, or none.'],
      },
    );
  return run;
}
