import { z } from 'zod';
import { ShownRun, Squad, shownRun, Turn } from '../../schema/run.ts';
import { Quiet } from '../../schema/run-card.ts';
import { operation } from '../operation.ts';
import { findRun } from './find.ts';
import { quietOf } from './quiet.ts';
import { RunResult, runResult } from './run-result.ts';
import { RunSetting, settingOf } from './run-setting.ts';
import { Tries, triesOf } from './run-tries.ts';
import { pullRequestOf, ReviewOfRun, reviewOfRun, ShownPullRequest, ShownWork, workOf } from './run-work.ts';

/** Everything known of one run. */
export const showRun = operation({
  name: 'show_run',
  route: 'GET /runs/{run}',
  agents: 'spawn',
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run: ShownRun,
    /** While it is at work and gives no sign. */
    quiet: Quiet.nullable(),
    turns: z.array(Turn),
    squad: Squad.nullable(),
    /** Null: it works in the caller's folder. */
    work: ShownWork.nullable(),
    /** The review it waits for or had last, or was started for. */
    review: ReviewOfRun.nullable(),
    pullRequest: ShownPullRequest.nullable(),
    tries: Tries,
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
    // As it is now: a live one changes while its turns are read, and an end must not be shown without its facts.
    const run = { ...(await findRun(services, input.run)) };
    const turn = { runId: run.id, number: run.turn };
    const [turns, squad, work, review, pullRequest, tries, setting, result, stdoutBytes, stderrBytes] =
      await Promise.all([
        store.turns(run.id),
        store.squad(run.squadId),
        workOf(services, run),
        reviewOfRun(services, run),
        pullRequestOf(services, run),
        triesOf(services, run),
        settingOf(call, run),
        runResult(services, run),
        files.size(turn, 'stdout'),
        files.size(turn, 'stderr'),
      ]);
    return {
      run: shownRun(run),
      quiet: quietOf(services, run),
      turns,
      squad,
      work,
      review,
      pullRequest,
      tries,
      setting,
      result,
      files: {
        stdout: files.outputPath(turn, 'stdout'),
        stderr: files.outputPath(turn, 'stderr'),
        stdoutBytes,
        stderrBytes,
      },
    };
  },
});
