import { basename } from 'node:path';
import { z } from 'zod';
import type { Workspace } from '../../core/ports/workspace.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { type RunRequest, SavedRequest, type SquadRequest } from '../../core/runs/run-request.ts';
import { cliNamed, type EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { LOCAL } from '../../schema/machines/machine.ts';
import { enginesOf, type Role } from '../../schema/role.ts';
import { isEnd, type Run, type Squad } from '../../schema/run.ts';
import { squadName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { findRunOrSquad, findSquad } from './find-runs.ts';
import { planLost, refuseBusyChat, refuseReviewer, workspaceOfRun } from './reply-to-run.ts';
import { Started, started, startRuns, TimeoutMs } from './start-runs.ts';

const Overrides = z.strictObject({
  engine: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  timeoutMs: TimeoutMs.optional(),
});
type Overrides = z.infer<typeof Overrides>;

/**
 * Repeats a request. Options that the caller had set are set again; all others come from the role and the current files
 * of the project. A run that continued a chat continues it again, because its task makes no sense without the chat.
 */
export const retryRuns = operation({
  name: 'retry_runs',
  route: 'POST /retry/{id}',
  agents: 'spawn',
  input: Overrides.extend({ id: z.string() }),
  output: Started,
  async run(call, { id, ...overrides }) {
    const found = await findRunOrSquad(call.services, id);
    const { asked, workspace } = await askAgain(call, found, overrides);
    return started(await startRuns(call, asked, workspace));
  },
});

const MemberRequest = SavedRequest.pick({
  ...{
    engine: true,
    model: true,
    permission: true,
    sandbox: true,
    isolation: true,
    budgetUsd: true,
    machine: true,
  },
})
  .partial()
  .extend({ roleId: z.string().nullable(), task: z.string() });

/** The members of a squad with the options that its caller had set, to compose one like it. */
export const showSquadRequest = operation({
  name: 'show_squad_request',
  route: 'GET /squads/{squad}/request',
  input: z.strictObject({ squad: z.string() }),
  output: z.object({ workspace: z.string(), name: z.string().nullable(), members: z.array(MemberRequest) }),
  async run({ services }, { squad: given }) {
    const { squad, runs } = await findSquad(services, given);
    const members = await Promise.all(
      runs.map(async run => {
        const kept = await loadPlan(services.files, run);
        // Without the file the options are unknown, and the role and the project decide.
        return MemberRequest.parse({ ...kept?.request, roleId: run.roleId, task: run.task });
      }),
    );
    return { workspace: squad.workspace, name: squadName(squad.metadata), members };
  },
});

/** The request for a retry. Throws if a retry is not possible. */
export async function askAgain(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  found: { squad: Squad | null; runs: Run[] },
  overrides: Overrides,
): Promise<{ asked: SquadRequest; workspace: Workspace }> {
  found.runs.forEach(refuseReviewer);
  const runs = found.squad ? notCompleted(found.squad, found.runs) : ended(found.runs);
  const { squad } = await findSquad(services, runs[0]!.squadId);
  const workspace = await workspaceOfRun(services, caller, squad.workspace);
  const members = await Promise.all(runs.map(run => requestAgain(services, run, overrides, workspace)));
  return { asked: { members, metadata: squad.metadata ?? undefined }, workspace };
}

function ended(runs: Run[]): Run[] {
  const open = runs.find(run => !isEnd(run.status));
  if (!open) return runs;
  throw new SquadError('RUN_NOT_OVER', `Run ${open.id} is still ${open.status}`, {
    suggestions: [
      `Wait for it (\`squad wait ${shellWord(open.id)}\`) or stop it (\`squad cancel ${shellWord(open.id)}\`) first.`,
    ],
  });
}

function notCompleted({ id }: Squad, runs: Run[]): Run[] {
  const failed = ended(runs).filter(run => run.status !== 'completed');
  if (failed.length > 0) return failed;
  throw new SquadError('INVALID_INPUT', `Every run of ${id} completed: there is nothing to retry`, {
    suggestions: [`To repeat one of them anyway, use \`squad retry ${shellWord(runs[0]?.id ?? 'RUN')}\`.`],
  });
}

async function requestAgain(
  services: Services,
  run: Run,
  { engine, ...overrides }: Overrides,
  workspace: Workspace,
): Promise<RunRequest> {
  const kept = await loadPlan(services.files, run);
  if (kept === null) throw planLost(run);
  const { spec } = kept;
  const request = {
    ...kept.request,
    ...overrides,
    takesUp: { runId: run.id, by: 'retry' as const },
    keeps: run.options.sandbox,
  };
  if (run.chatIsNew && run.options.forksChat === null) {
    if (engine !== undefined) return { ...request, engine };
    const role = run.roleId === null ? null : await workspace.role(run.roleId);
    const same = await sameEngine(spec, request.engine, role, workspace);
    // Without an engine the request keeps the others of the role's list.
    const isFirst = role !== null && same.engine !== undefined && same.engine === enginesOf(role.meta)[0];
    return request.engine === undefined && isFirst ? request : { ...request, ...same };
  }
  if (engine === undefined) {
    if (run.chatId !== null && !run.chatIsNew) refuseBusyChat(services, run.chatId);
    return {
      ...request,
      machine: run.options.machine ?? LOCAL,
      chatId: run.chatIsNew ? undefined : (run.chatId ?? undefined),
      spec,
    };
  }
  throw new SquadError(
    'INVALID_INPUT',
    `Run ${run.id} continued a chat of ${run.engine}, which no other engine can continue`,
    {
      suggestions: ['Leave --engine out, or start the task again with `squad run`.'],
    },
  );
}

/**
 * Returns the engine by name, so that its program is searched for again. For a template its current configuration is
 * used.
 */
async function sameEngine(
  spec: EngineSpec,
  asked: string | undefined,
  role: Role | null,
  workspace: Workspace,
): Promise<Pick<RunRequest, 'engine' | 'spec'>> {
  const { config, ignored } = workspace;
  if (spec.kind === 'cli') {
    // If a path was given, that program is used, not another one of the same name.
    const names = [asked, role && enginesOf(role.meta)[0], config.engine.value];
    return { engine: names.find(name => name && cliNamed(basename(name)) === spec.cli) ?? spec.cli };
  }
  if (spec.kind !== 'template' && spec.kind !== 'acp') return { spec };
  if (Object.hasOwn(config.engines.value, spec.id)) return { engine: spec.id };
  if (spec.kind === 'acp') return { spec };
  const isTemplateSet =
    config.runTemplate.value !== null || ignored.some(setting => setting.key === 'runTemplate');
  if (spec.id !== 'template' || !isTemplateSet) return { spec };
  const { spec: today } = await workspace.engine(null, {});
  return { spec: today.kind === 'template' ? { ...today, engineCommand: spec.engineCommand } : spec };
}
