import { z } from 'zod';
import { loadCommand, loadPlan } from '../../core/runs/plan-file.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run, ShownRun, ShownStatus, Squad, shownRun, TakesUp, Turn } from '../../schema/run.ts';
import { BranchState, Quiet } from '../../schema/run-card.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { currentRun, findRun } from './find-runs.ts';
import { stallOf } from './run-card.ts';
import { RunResult, runResult } from './run-result.ts';
import { pullRequestOf, ReviewOfRun, reviewOfRun, ShownPullRequest, ShownWork, workOf } from './run-work.ts';

/** Known settings that a run was started with. */
export const RunSetting = z.object({
  /** The engine's program, and the version it reported. Null if unknown, or the engine has no program. */
  program: z.string().nullable(),
  version: z.string().nullable(),
  /** Subagent file, if the run is a call of a subagent. */
  subagentFile: z.string().nullable(),
  /** Names of the run's environment variables. Null if the run has ended, or if the caller may not see them. */
  variables: z.array(z.string()).nullable(),
  /**
   * Program and arguments of the last turn, without secrets and prompt. Null if unknown, or the caller may not see
   * them.
   */
  command: z.array(z.string()).nullable(),
});
export type RunSetting = z.infer<typeof RunSetting>;

export async function settingOf({ services, caller }: Call, run: Run): Promise<RunSetting> {
  const spec = (await loadPlan(services.files, run))?.spec;
  const cli = spec?.kind === 'cli' ? spec : null;
  const isKept = !isEnd(run.status) && caller.parent === null;
  const names = isKept ? Object.keys(await services.files.environment(run.id)).sort() : [];
  return {
    program: cli?.program ?? null,
    version: cli?.version ?? null,
    subagentFile: spec?.kind === 'native' ? (spec.subagent?.file ?? null) : null,
    variables: names.length > 0 ? names : null,
    command: caller.parent === null ? await loadCommand(services.files, run) : null,
  };
}

const MAX_TRIES = 1000;

const Try = z.object({
  runId: RunId,
  by: TakesUp.shape.by,
  /** Status of the run. Null if the run was removed. */
  status: ShownStatus.nullable(),
});

/** Earlier and later runs with the same task. */
export const Attempts = z.object({
  /** The earlier run that this run retries or continues. */
  of: Try.nullable(),
  /** Runs that retry or continue this one, oldest first. */
  since: z.array(Try),
});
export type Attempts = z.infer<typeof Attempts>;

async function attemptsOf(services: Services, run: Run): Promise<Attempts> {
  const { store } = services;
  const { takesUp } = run.options;
  const [before, lineage] = await Promise.all([
    takesUp && store.run(takesUp.runId),
    store.runs({ lineageId: run.lineageId, limit: MAX_TRIES }),
  ]);
  const later = lineage.filter(({ options }) => options.takesUp?.runId === run.id).reverse();
  const since = later.map(async row => {
    const status = shownStatus(await currentRun(services, row));
    return { runId: row.id, by: row.options.takesUp!.by, status };
  });
  return {
    of: takesUp && { ...takesUp, status: before && shownStatus(await currentRun(services, before)) },
    since: await Promise.all(since),
  };
}

export const showRun = operation({
  name: 'show_run',
  route: 'GET /runs/{run}',
  agents: 'spawn',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run: ShownRun,
    /** Name of the hub of the run, if several hubs use the database. Null if there is only one. */
    hub: z.string().nullable(),
    /** Kind of inactivity, while the run is running without output or other activity. Null otherwise. */
    quiet: Quiet.nullable(),
    turns: z.array(Turn),
    squad: Squad.nullable(),
    /** Null if the run has not ended, has no branch of its own, or has nothing to merge. */
    branchState: BranchState.nullable(),
    /** Work tree of the run. Null if the run works in the caller's folder. */
    work: ShownWork.nullable(),
    /** The review that the run waits for or had last, or for which it was started. */
    review: ReviewOfRun.nullable(),
    pullRequest: ShownPullRequest.nullable(),
    tries: Attempts,
    setting: RunSetting,
    result: RunResult,
    files: z.object({
      stdout: z.string(),
      stderr: z.string(),
      stdoutBytes: z.number(),
      stderrBytes: z.number(),
    }),
  }),
  async run(call, input) {
    const { services } = call;
    const { store, files } = services;
    // A copy is used, because a live run changes while its turns are read. An end would otherwise be shown without its
    // facts.
    const run = { ...(await findRun(services, input.run)) };
    const turn = { runId: run.id, number: run.turn };
    const [turns, squad, work, review, pullRequest, tries, setting, result, stdoutBytes, stderrBytes] =
      await Promise.all([
        store.turns(run.id),
        store.squad(run.squadId),
        workOf(services, run),
        reviewOfRun(services, run),
        pullRequestOf(services, run),
        attemptsOf(services, run),
        settingOf(call, run),
        runResult(services, run),
        files.size(turn, 'stdout'),
        files.size(turn, 'stderr'),
      ]);
    return {
      run: shownRun(run),
      hub: (await store.hubsOf([run.id])).get(run.id) ?? null,
      quiet: stallOf(services, run),
      branchState: (await services.branchStates.of([run])).get(run.id) ?? null,
      ...{ turns, squad, work, review, pullRequest, tries, setting, result },
      files: {
        stdout: files.outputPath(turn, 'stdout'),
        stderr: files.outputPath(turn, 'stderr'),
        stdoutBytes,
        stderrBytes,
      },
    };
  },
});
