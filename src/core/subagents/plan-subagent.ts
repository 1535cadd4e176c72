import type { EngineSpec } from '../../schema/engine-spec.ts';
import { newRunId, type RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { Subagent } from '../../schema/subagent.ts';
import { variablesIn } from '../gateway/variables.ts';
import {
  checkCommand,
  type Membership,
  newRun,
  type PlanContext,
  type PlannedRun,
  planOptions,
  type RunFolder,
  resolveRunFolder,
  sandboxFor,
  splitEnvironment,
} from '../runs/plan-run.ts';
import type { RunRequest } from '../runs/run-request.ts';

/** True if the run exists only for its caller. A retry of a subagent run, or a reply to it, is an ordinary run. */
export const isSubagentCall = ({ options }: Pick<Run, 'options'>): boolean =>
  options.subagent !== null && options.takesUp === null;

type SubagentRequest = RunRequest & {
  spec: Extract<EngineSpec, { kind: 'native' }> & { subagent: Subagent };
};

/** True for a call of a subagent, a retry of it or a reply to it. */
export const isSubagentRequest = (request: RunRequest): request is SubagentRequest =>
  request.spec?.kind === 'native' && request.spec.subagent !== null;

/**
 * Plans a run of a subagent, whose file contains everything that a role defines for other runs. The run has only the
 * MCP servers of its file.
 */
export async function planSubagent(
  request: SubagentRequest,
  membership: Membership,
  context: PlanContext,
): Promise<PlannedRun> {
  const { subagent } = request.spec;
  const whole = await context.environment([]);
  const { spec, notes } = await context.engines.refresh(request.spec, whole);
  const engine = context.engines.create(spec);
  const id = newRunId();
  const folder = await subagentFolder(request, id, context);
  const reserved = subagent.servers ? variablesIn(subagent.servers) : [];
  const environment = await splitEnvironment(whole, { reserved, role: null, engine }, context);
  const { sandbox, note } = await sandboxFor(
    request,
    { role: null, engine, folder, env: environment.env, machine: null },
    context,
  );
  const options = {
    ...(await planOptions(request, null, membership, context)),
    sandbox,
    // The subagent's file decides which tools the run has. The tools of its caller do not limit them.
    tools: null,
    servers: subagent.servers,
    subagent: subagent.name,
    // The caller waits, and its time limit does not allow for a reset.
    parkMs: null,
  };
  const run = newRun(id, request, { role: null, engine, folder, options }, membership, context);
  if (note !== null) run.notes.push(note);
  // The prompt of the caller is passed on unchanged, because the system prompt is in the file, and a failure becomes
  // a tool error.
  const planned = {
    ...{ run, request, prompt: request.task, engine, spec, others: [], role: null, ...environment, notes },
    baseline: run.worktree ? null : context.baseline(run.directory),
  };
  return checkCommand(planned, context);
}

/** A subagent works in the folder where its caller was started, even outside the workspace. */
async function subagentFolder(
  request: SubagentRequest,
  runId: RunId,
  { workspace, worktrees, caller }: PlanContext,
): Promise<Pick<RunFolder, 'directory' | 'worktree'>> {
  const { place } = request;
  if (place && !place.worktree) {
    await workspace.directory(place.directory, place.directory);
    return place;
  }
  return resolveRunFolder(request, {
    ...{ runId, name: request.spec.subagent.name, role: null, workspace, worktrees },
    around: caller.parent?.worktree ?? null,
  });
}
