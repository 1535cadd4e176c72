import { z } from 'zod';
import { startOfDay } from '../../core/cost/budget.ts';
import { figuresOf, type RunSums, sumsOf } from '../../core/cost/usage.ts';
import type { Caller, TeamAgent, Workspace } from '../../core/ports/workspace.ts';
import type { Member } from '../../core/team/roster.ts';
import { isEnd, type Run, runSummary } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { withCurrentUsage } from '../cost/cost-report.ts';
import { operation, type Services } from '../operation.ts';
import { currentRun, findRun } from '../runs/find-runs.ts';

/** A member of the roster, an agent with a folder in `agents/`, or a role of the workspace. */
export interface Teammate extends TeamAgent {
  member: Member | null;
}

/** Members of the team. Those in the roster come first, in its order. */
export async function teammates({ team, roles }: Workspace): Promise<Teammate[]> {
  const [{ members }, agents, known] = await Promise.all([
    team.roster(),
    team.agents(),
    // Errors of roles are ignored here, because the list of roles reports them.
    roles().catch(() => []),
  ]);
  const found = new Map<string, Teammate>();
  const add = (name: string, more: Partial<Teammate>) => {
    const key = name.toLowerCase();
    const before = found.get(key) ?? { name, hasCharter: false, hasHistory: false, member: null };
    if (key !== '') found.set(key, { ...before, ...more });
  };
  for (const member of members) add(member.agent, { member });
  for (const { name, hasCharter, hasHistory } of agents) add(name, { name, hasCharter, hasHistory });
  for (const { id } of known) add(id, {});
  return [...found.values()];
}

/** A role and a member of the roster with the same name are the same. */
const isRunOf = ({ roleId }: Pick<Run, 'roleId'>, name: string): boolean =>
  roleId !== null && roleId.toLowerCase() === name.toLowerCase();

/** The running and queued runs of each role in this workspace. */
export function runCounts({ runner }: Pick<Services, 'runner'>, workspace: string) {
  const live = runner.liveRuns().filter(run => run.workspace === workspace);
  return (name: string) => {
    const own = live.filter(run => isRunOf(run, name));
    const queued = own.filter(({ status }) => status === 'queued').length;
    return { running: own.length - queued, queued };
  };
}

const MAX_SEARCHED = 500;
const MAX_RECENT = 5;

/** A member's live and latest runs. An agent sees only their states, not their tasks. */
export async function agentStatus(
  { store, runner }: Services,
  caller: Caller,
  { root }: Pick<Workspace, 'root'>,
  { name, member }: Teammate,
) {
  const live = runner.liveRuns().filter(run => run.workspace === root && isRunOf(run, name));
  const rows = await store.runs({ workspace: root, limit: MAX_SEARCHED });
  const ended = rows.filter(run => isEnd(run.status) && isRunOf(run, name)).slice(0, MAX_RECENT);
  const queued = live.filter(({ status }) => status === 'queued').length;
  const status = {
    name,
    role: member?.role ?? null,
    roster_status: member?.status ?? null,
    status: live.length > queued ? 'working' : queued > 0 ? 'waiting' : 'idle',
    running: live.length - queued,
    queued,
  };
  if (caller.parent) return { ...status, recent: ended.map(run => ({ status: shownStatus(run) })) };
  const shown = (run: (typeof live)[number]) => ({
    spawn_id: run.id,
    squad_id: run.squadId,
    status: shownStatus(run),
    task_summary: runSummary(run),
    started_at: iso(run.startedAt),
    ended_at: iso(run.endedAt),
  });
  return { ...status, active: live.slice(0, MAX_RECENT * 4).map(shown), recent: ended.map(shown) };
}

const iso = (moment: number | null): string | null =>
  moment === null ? null : new Date(moment).toISOString();

const MAX_OF_SQUAD = 1_000;

/** Time, tokens and cost of today's runs and of those of this workspace; for an agent, of its own run and its squad. */
export async function teamMetrics(services: Services, caller: Caller, workspace: string) {
  const { store, clock } = services;
  const now = clock.now();
  const at = new Date(now).toISOString();
  if (caller.parent) {
    const { id, squadId } = caller.parent;
    const own = await findRun(services, id);
    const rows = await store.runs({ squadId, limit: MAX_OF_SQUAD });
    const squad = await Promise.all(rows.map(row => currentRun(services, row)));
    const figures = (runs: Run[]) =>
      figuresOf(
        runs.map(run => withCurrentUsage(services, sumsOf(run))),
        now,
      );
    return { at, run: figures([own]), squad: figures(squad) };
  }
  const total = async (filter: Parameters<typeof store.figures>[0]) => {
    const sums: RunSums[] = [];
    for await (const page of store.figures(filter))
      sums.push(...page.map(each => withCurrentUsage(services, each)));
    return figuresOf(sums, now);
  };
  return { at, today: await total({ since: startOfDay(now) }), workspace: await total({ workspace }) };
}

/** The members of the roster, then roles that are not on it, each with its running and queued runs. */
export const readTeam = operation({
  name: 'read_team',
  route: 'GET /team',
  agents: 'always',
  input: z.strictObject({}),
  output: z.object({
    members: z.array(
      z.object({
        name: z.string(),
        agent: z.string(),
        role: z.string().nullable(),
        status: z.string().nullable(),
        charter: z.string().nullable(),
        onRoster: z.boolean(),
        running: z.number(),
        queued: z.number(),
      }),
    ),
    notes: z.array(z.string()),
  }),
  async run({ services, caller }) {
    const workspace = await services.workspaces.open(caller);
    const [team, { notes }] = await Promise.all([teammates(workspace), workspace.team.roster()]);
    const countsOf = runCounts(services, workspace.root);
    return {
      members: team.map(({ name, member }) => ({
        name: member?.name ?? name,
        agent: name,
        role: member?.role ?? null,
        status: member?.status ?? null,
        charter: member?.charter ?? null,
        onRoster: member !== null,
        ...countsOf(name),
      })),
      notes: caller.parent ? [...notes, 'Only runs that are your own business are counted.'] : notes,
    };
  },
});
