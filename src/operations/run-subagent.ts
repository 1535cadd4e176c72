import { dirname } from 'node:path';
import { z } from 'zod';
import type { Workspace } from '../core/ports/workspace.ts';
import type { RunRequest } from '../core/run-request.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run } from '../schema/run.ts';
import type { Subagent } from '../schema/subagent.ts';
import { type Call, type Operation, operation, type Services } from './operation.ts';
import { startRuns } from './start-members.ts';
import { stopBelow, stopRuns } from './stop-runs.ts';
import { subagentFailure } from './subagent-failure.ts';
import { waitForEnds } from './wait.ts';

const MOST_INPUTS = 100;
const LONGEST_TITLE = 200;

export const SubagentAnswer = z.object({
  run_id: z.string(),
  text: z.string(),
  /** What it gave to `final_answer`, which fits its schema; absent without one. */
  structured: z.unknown().optional(),
});
export type SubagentAnswer = z.infer<typeof SubagentAnswer>;

export interface SubagentPorts {
  /** All of them: what was started for a call is stopped with it, whoever called. */
  services: Services;
  /** What the caller is inside of, from the outermost on. */
  line(): Promise<string[]>;
  /** Settles when nothing is left of the servers that a run had. */
  serversGone(id: RunId): Promise<void>;
}

/** A subagent as something to ask for: a prompt in, its answer out. One call is one run, and ends with whoever waits for it. */
export function runSubagent(subagent: Subagent, ports: SubagentPorts): Operation {
  return operation({
    name: 'run_subagent',
    tool: { title: subagent.name, description: subagent.description, readOnly: false },
    input: z.strictObject({
      prompt: z.string().describe('The task. It knows nothing of your conversation: say all that it needs'),
      inputs: z
        .array(z.string().min(1))
        .max(MOST_INPUTS)
        .optional()
        .describe('Paths of files that join the prompt: text, images, PDF'),
    }),
    output: SubagentAnswer,
    async run(call, { prompt, inputs = [] }) {
      await refuseDepth(call, subagent, ports);
      const workspace = await workspaceOf(call, subagent);
      const request = requestFor(subagent, prompt, inputs, call.caller.cwd ?? workspace.root);
      const { runs } = await startRuns(call, { members: [request] }, workspace);
      const { run } = runs[0]!;
      await waitForEnds(call, [run], null);
      if (!isEnd(run.status)) await stop(run, ports);
      return answerOf(run, subagent, ports.services);
    },
  }) as unknown as Operation;
}

function requestFor(subagent: Subagent, prompt: string, inputs: string[], directory: string): RunRequest {
  const { name, outputSchema, timeoutMs } = subagent;
  return {
    task: prompt,
    title: `${name}: ${prompt.trim().split('\n', 1)[0]}`.slice(0, LONGEST_TITLE).toWellFormed(),
    spec: { kind: 'native', subagent, inputs },
    subagent,
    outputSchema,
    context: false,
    stateMode: 'stateless',
    ...(timeoutMs !== null && { timeoutMs }),
    place: { directory, worktree: null },
  };
}

/** The fuse would refuse it as well, and could not say who calls whom. */
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
    `This would be a run ${depth} levels deep, and limits.depth is ${deepest}: ${[...(await line()), name].join(' → ')}`,
    {
      suggestions: [
        'If one of them calls itself, take it out of its own mcpServers.',
        `If it is meant to be so deep: \`squad config set limits.depth ${depth}\`.`,
      ],
    },
  );
}

/** A client that was started at home, or at the root of the file system, is in no project; then it is the file's own. */
async function workspaceOf({ services, caller }: Call, { file }: Subagent): Promise<Workspace> {
  const { workspaces } = services;
  return workspaces.open(caller).catch(thrown => {
    if (asSquadError(thrown).code !== 'WORKSPACE_REFUSED') throw thrown;
    return workspaces.open({ ...caller, workspace: dirname(file) });
  });
}

/** Nobody waits for it any more. Settles when it is gone, with all that it started. */
async function stop(run: Run, { services, serversGone }: SubagentPorts): Promise<void> {
  const never = new AbortController().signal;
  const ended = (id: RunId) => services.runner.untilEnded(id, never);
  const { below } = await stopRuns(services, [run]);
  await Promise.all([ended(run.id), ...below.map(each => ended(each.run.id))]);
  // What it started while it was being stopped.
  const late = await stopBelow(services, [run]);
  await Promise.all([serversGone(run.id), ...late.map(each => ended(each.run.id))]);
}

async function answerOf(run: Run, subagent: Subagent, { files }: Services): Promise<SubagentAnswer> {
  if (run.status !== 'completed') throw subagentFailure(run, subagent);
  const text = (await files.answer(run.id)) ?? '';
  if (subagent.outputSchema === null) return { run_id: run.id, text };
  return { run_id: run.id, text, structured: await files.structured(run.id) };
}
