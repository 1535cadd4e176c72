import { setImmediate as immediate } from 'node:timers/promises';
import { z } from 'zod';
import { firstThatFit } from '../../core/output/digest.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, namedSummary, type Run, RunStatus, ShownRun, shownRun } from '../../schema/run.ts';
import { BranchState, Quiet } from '../../schema/run-card.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { askNotes, openQuestionsOf, ShownAsk } from '../inbox/open-questions.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { currentRun } from './find-runs.ts';
import { stallOf } from './run-card.ts';
import { undecidedAmong } from './run-notes.ts';
import { RESULT_LIMIT } from './run-result.ts';

/** Runs, newest first, for `squad ls` and the web UI. */
export const listRuns = operation({
  name: 'list_runs',
  route: 'GET /runs',
  agents: 'spawn',
  input: z.strictObject({
    workspace: z.string().optional(),
    status: z.array(RunStatus).optional(),
    before: z.number().optional(),
    limit: z.number().int().min(1).max(1000).default(20),
  }),
  output: z.object({
    runs: z.array(
      ShownRun.extend({
        quiet: Quiet.nullable(),
        needsYou: z.boolean(),
        /** Name of the hub of the run, if several hubs use the database. Null if there is only one. */
        hub: z.string().nullable(),
        /** Null if the run has not ended, has no branch of its own, or has nothing to merge. */
        branchState: BranchState.nullable(),
      }),
    ),
  }),
  async run({ services }, filter) {
    const runs = await services.store.runs(filter);
    const undecided = await undecidedAmong(services, runs);
    const branches = await services.branchStates.of(runs);
    const hubs = await services.store.hubsOf(runs.map(({ id }) => id));
    const shown = [];
    for (const [at, row] of runs.entries()) {
      if (at % SHOWN_AT_ONCE === SHOWN_AT_ONCE - 1) await immediate();
      const run = await currentRun(services, row);
      shown.push({
        ...shownRun(run),
        quiet: stallOf(services, run),
        needsYou: undecided.has(run.id),
        hub: hubs.get(run.id) ?? null,
        branchState: branches.get(run.id) ?? null,
      });
    }
    return { runs: shown };
  },
});

/** Number of runs after which the event loop gets a turn, because a thousand runs are megabytes of JSON. */
const SHOWN_AT_ONCE = 200;

/**
 * Runs that have not ended, in the caller's workspace or in all workspaces. `others` are runs in other workspaces. An
 * agent sees only runs that it may see, in all workspaces. Throws WORKSPACE_UNSET or WORKSPACE_REFUSED.
 */
export async function liveRunsOf(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  isEverywhere: boolean,
): Promise<{ runs: Run[]; others: Run[]; workspace: string | null }> {
  const live = [...services.runner.liveRuns(), ...(await services.store.liveElsewhere())];
  const workspace = await scopeOf({ services, caller }, isEverywhere);
  const isHere = (run: Run) => workspace === null || run.workspace === workspace;
  return { runs: live.filter(isHere), others: live.filter(run => !isHere(run)), workspace };
}

/** The workspace to list. Null means every workspace. */
async function scopeOf(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  isEverywhere: boolean,
): Promise<string | null> {
  if (isEverywhere || caller.parent) return null;
  try {
    return await services.workspaces.root(caller);
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    throw new SquadError(thrown.code, thrown.message, {
      suggestions: [...thrown.suggestions, 'Or give everywhere: true for the runs of every workspace.'],
      cause: thrown,
    });
  }
}

const REST_LENGTH = 300;

const result = <T extends z.ZodType>(agent: T) =>
  z.object({ agents: z.array(agent), count: z.number(), note: z.string().optional() });
const Listed = z.object({
  spawn_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  task_summary: z.string(),
  workspace: z.string(),
  client: z.string().nullable(),
  hub: z.string().optional().describe('If several hubs use the database'),
});
const Agent = Listed.extend({
  squad_id: z.string(),
  model: z.string().nullable(),
  started_at: z.string().nullable(),
  elapsed_seconds: z.number().nullable(),
});
const Ended = Listed.extend({ ended_seconds_ago: z.number().nullable() });

const listed = (run: Run, hub: string | undefined): z.infer<typeof Listed> => ({
  spawn_id: run.id,
  role_id: run.roleId,
  status: shownStatus(run),
  task_summary: namedSummary(run),
  workspace: run.workspace,
  client: run.client,
  ...(hub !== undefined && { hub }),
});

export const listRunning = operation({
  name: 'list_running',
  route: 'POST /tools/list_running',
  agents: 'spawn',
  tool: {
    title: 'List running',
    description:
      'Agents queued or running in this workspace, of all clients. recent: also the last that ended.',
    readOnly: true,
  },
  input: z.strictObject({ recent: z.boolean().optional(), everywhere: z.boolean().optional() }),
  output: result(Agent).extend({
    asks: z.array(ShownAsk).optional(),
    recent: z.array(Ended).optional().describe('With `recent`: runs that have ended, newest first'),
  }),
  async run({ services, caller }, { recent: wantsRecent = false, everywhere = false }) {
    const now = services.clock.now();
    const { runs: live, others, workspace } = await liveRunsOf({ services, caller }, everywhere);
    const ended = wantsRecent ? await recentlyEnded(services, workspace) : [];
    const hubs = await services.store.hubsOf([...live, ...ended].map(({ id }) => id));
    const recent = ended.map(run => ({
      ...listed(run, hubs.get(run.id)),
      ended_seconds_ago: run.endedAt === null ? null : Math.round((now - run.endedAt) / 1000),
    }));
    const agents = live.map(run => ({
      ...listed(run, hubs.get(run.id)),
      status: run.status,
      squad_id: run.squadId,
      model: run.model,
      started_at: run.startedAt === null ? null : new Date(run.startedAt).toISOString(),
      elapsed_seconds: run.startedAt === null ? null : (now - run.startedAt) / 1000,
    }));
    const asked = openQuestionsOf(services, live);
    const room = RESULT_LIMIT - REST_LENGTH - JSON.stringify([asked, recent]).length;
    const shown = firstThatFit(agents, room);
    const left = live.length - shown.length;
    const notes = [
      ...askNotes(services, live),
      ...(left > 0 ? [`${left} more are not shown.`] : []),
      ...(others.length > 0
        ? [`${others.length} more in other workspaces: everywhere: true shows them.`]
        : []),
    ];
    return {
      agents: shown,
      count: live.length,
      ...asked,
      ...(wantsRecent && { recent }),
      ...(notes.length > 0 && { note: notes.join(' ') }),
    };
  },
});

const MAX_RECENT = 10;
const END_STATUSES = RunStatus.options.filter(isEnd);

const recentlyEnded = async ({ store }: Services, workspace: string | null): Promise<Run[]> =>
  store.runs({ ...(workspace !== null && { workspace }), status: END_STATUSES, limit: MAX_RECENT });
