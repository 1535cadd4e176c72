import { dirname } from 'node:path';
import { z } from 'zod';
import type { Action } from '../../core/policy.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import type { RunRequest } from '../../core/runs/run-request.ts';
import { isSubagentCall } from '../../core/subagents/plan-subagent.ts';
import { asSquadError, isErrorCode, SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, type RunError } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Subagent } from '../../schema/subagent.ts';
import { type Call, type Operation, operation, type Services } from '../operation.ts';
import { stopRunsAndWait } from '../runs/cancel-run.ts';
import { startRuns } from '../runs/start-runs.ts';
import { waitForAnswer } from '../runs/wait.ts';

interface Ending {
  /** The caller, the stopping hub or another client, if one of them ended the call. Null if unknown. */
  stoppedBy: 'caller' | 'hub' | { client: string } | null;
  /** True if the run has a stored conversation. */
  hasConversation: boolean;
}

/** The error of a failed call for its caller: what happened, the next step, and where to read more. */
export function subagentFailure(run: Run, subagent: Subagent, end: Ending): SquadError {
  const { id, status } = run;
  const { code, message } = run.error ?? withoutError(run, subagent, end);
  return new SquadError(isErrorCode(code) ? code : 'ENGINE_FAILED', message, {
    suggestions: [
      ...(NEXT[code]?.(subagent, run) ?? []),
      end.hasConversation
        ? `\`squad conversation print ${shellWord(id)}\` shows the conversation.`
        : `\`squad log ${shellWord(id)}\` shows its whole output.`,
    ],
    details: { run_id: id, status },
  });
}

function withoutError({ status, startedAt }: Run, { name }: Subagent, { stoppedBy }: Ending): RunError {
  if (status === 'timeout')
    return {
      code: 'TIMEOUT',
      message: `${name} ${startedAt === null ? 'had not started' : 'did not finish'} within its time limit`,
    };
  if (status === 'cancelled')
    return {
      code: 'CANCELLED',
      message: `${name} was stopped before it was done: ${cancelReason(stoppedBy)}`,
    };
  return { code: 'ENGINE_FAILED', message: `${name} ended as ${status}` };
}

function cancelReason(by: Ending['stoppedBy']): string {
  if (by === 'caller') return 'its call was cancelled';
  if (by === 'hub') return 'the hub was stopped';
  if (by === null) return 'it was cancelled';
  if (by.client === 'terminal') return 'it was cancelled in a terminal (`squad cancel`)';
  if (by.client === 'page') return 'it was cancelled in the web UI';
  return `${by.client} cancelled it`;
}

const NEXT: Readonly<Record<string, ((subagent: Subagent, run: Run) => string[]) | undefined>> = {
  TIMEOUT: ({ file }, { startedAt }) =>
    startedAt === null
      ? [
          `If it waited for a free slot (\`squad ls\` shows the running runs): call it again later, allow more at once (\`squad config set limits.concurrency N\`) or more time (\`defaults.timeout\` in ${file}).`,
        ]
      : [`Ask for less at once, or allow more: \`defaults.timeout\` in ${file}.`],
  TURN_LIMIT: ({ file }) => [`Ask for less at once, or allow more: \`defaults.maxTurns\` in ${file}.`],
  ENGINE_NOT_LOGGED_IN: ({ model }) =>
    model.apiKeyEnv === null ? [] : [`Check the key in ${model.apiKeyEnv}: the provider refused it.`],
  ENGINE_RATE_LIMITED: () => ['Squad does not retry by itself: call it again later.'],
  OUTPUT_MISMATCH: () => ['Squad does not retry by itself: call it again, or say more in the prompt.'],
};

const MAX_INPUTS = 100;

export const SubagentAnswer = z.object({
  run_id: z.string(),
  text: z.string(),
  /** The value given to `final_answer`, which matches the schema. Absent if there is no schema. */
  structured: z.unknown().optional(),
});
export type SubagentAnswer = z.infer<typeof SubagentAnswer>;

export interface SubagentPorts {
  /**
   * Services without the restrictions of agents, because everything that a call started is stopped with it, whoever
   * the caller is.
   */
  services: Services;
  /** Aborted when the hub stops, which ends all calls. */
  stopping: AbortSignal;
  /** Names of the callers of this call, outermost first. */
  line(): Promise<string[]>;
  /** Resolves when the servers of a run have stopped. */
  serversGone(id: RunId): Promise<void>;
  /**
   * Called with cleanup that may take longer than the reply: stopping the servers of the run, and of subagents that it
   * called.
   */
  onLeaving(isGone: Promise<unknown>): void;
}

/** Agents may call this operation too, because a subagent can be a server of another subagent. */
export const RUN_SUBAGENT = { name: 'run_subagent', agents: 'subagent' } as const satisfies Action;

/** A subagent as an operation: takes a prompt, returns the answer. One call is one run, and ends with its caller. */
export function runSubagent(subagent: Subagent, ports: SubagentPorts): Operation {
  return operation({
    ...RUN_SUBAGENT,
    route: null,
    tool: { title: subagent.name, description: subagent.description, readOnly: false },
    input: z.strictObject({
      prompt: z.string().describe('The task. It knows nothing of your conversation: say all that it needs'),
      inputs: z
        .array(z.string().min(1))
        .max(MAX_INPUTS)
        .optional()
        .describe('Paths of files that join the prompt: text, images, PDF'),
    }),
    output: SubagentAnswer,
    async run(call, { prompt, inputs = [] }) {
      await refuseDepth(call, subagent, ports);
      const workspace = await workspaceOf(call, subagent);
      const request = requestFor(subagent, prompt, inputs, call.caller.cwd ?? workspace.root);
      const { runs } = await startRuns(call, { members: [request] }, workspace);
      const run = await waitForAnswer(call, runs[0]!.run);
      const isAbandoned = !isEnd(run.status);
      if (isAbandoned) await stop(run, ports);
      else ports.onLeaving(leave(run, ports));
      if (run.status === 'completed') return answerOf(run, subagent, ports.services);
      throw subagentFailure(run, subagent, await endingOf(run, isAbandoned, ports));
    },
  }) as unknown as Operation;
}

function requestFor(subagent: Subagent, prompt: string, inputs: string[], directory: string): RunRequest {
  const { outputSchema, timeoutMs } = subagent;
  return {
    task: prompt,
    spec: { kind: 'native', subagent, inputs },
    outputSchema,
    stateMode: 'stateless',
    ...(timeoutMs !== null && { timeoutMs }),
    place: { directory, worktree: null },
  };
}

/**
 * Throws if subagents call each other too deeply. The spawn limit would refuse the call too, but could not name the
 * callers.
 */
async function refuseDepth(
  { services, caller }: Call,
  { name }: Subagent,
  { line }: SubagentPorts,
): Promise<void> {
  const deepest = services.settings.all()['limits.depth'];
  const depth = caller.parent ? caller.parent.depth + 1 : 0;
  if (depth <= deepest) return;
  throw new SquadError(
    'DEPTH_LIMIT',
    `This run would be nested ${depth} levels deep; the limit is ${deepest} (limits.depth): ${[...(await line()), name].join(' → ')}`,
    {
      suggestions: [
        'If a subagent calls itself, remove it from the mcpServers of its own file.',
        `If this depth is intended: \`squad config set limits.depth ${depth}\`.`,
      ],
    },
  );
}

/**
 * A client that was started in the home folder or at the root of the file system is in no project. Then the folder of
 * the subagent file is the workspace.
 */
async function workspaceOf({ services, caller }: Call, { file }: Subagent): Promise<Workspace> {
  const { workspaces } = services;
  return workspaces.open(caller).catch(thrown => {
    if (asSquadError(thrown).code !== 'WORKSPACE_REFUSED') throw thrown;
    return workspaces.open({ ...caller, workspace: dirname(file) });
  });
}

/** Stops a run that nobody waits for. Resolves when the run and everything it started are gone. */
async function stop(run: Run, ports: SubagentPorts): Promise<void> {
  const { below } = await stopRunsAndWait(ports.services, [run], null, stopped => untilEnded(stopped, ports));
  await untilGone([run, ...below.map(stopped => stopped.run)], ports);
}

/**
 * Called after the answer was sent. Resolves when the servers of the run have stopped, and those of subagents that it
 * called.
 */
async function leave(run: Run, ports: SubagentPorts): Promise<void> {
  await untilGone([run], ports);
  const below = await descendantsOf(ports.services.store, run.id);
  await untilGone(below.filter(isSubagentCall), ports);
}

async function untilGone(runs: Run[], ports: SubagentPorts): Promise<void> {
  await untilEnded(runs, ports);
  await Promise.all(runs.map(({ id }) => ports.serversGone(id)));
}

async function untilEnded(runs: Run[], { services }: SubagentPorts): Promise<void> {
  const never = new AbortController().signal;
  await Promise.all(runs.map(({ id }) => services.runner.untilEnded(id, never)));
}

async function endingOf(
  { id }: Run,
  isAbandoned: boolean,
  { services: { store, conversations }, stopping }: SubagentPorts,
): Promise<Ending> {
  const [stops, messages] = await Promise.all([
    store.events({ runId: id, types: ['run.stopping'], limit: 1 }),
    conversations.countMessages(id),
  ]);
  const body = stops[0]?.body;
  const client = body?.type === 'run.stopping' ? body.by : undefined;
  const others = client === undefined ? null : { client };
  return {
    stoppedBy: isAbandoned ? (stopping.aborted ? 'hub' : 'caller') : others,
    hasConversation: messages > 0,
  };
}

async function answerOf(run: Run, subagent: Subagent, { files }: Services): Promise<SubagentAnswer> {
  const text = (await files.answer(run.id)) ?? '';
  if (subagent.outputSchema === null) return { run_id: run.id, text };
  return { run_id: run.id, text, structured: await files.structured(run.id) };
}
