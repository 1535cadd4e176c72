import type { Caller, Workspace } from '../../core/ports/workspace.ts';
import { isEnd, runSummary } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';
import { isRunOf, type Teammate } from './team-agents.ts';

const LOOKED_AT = 500;
const SHOWN = 5;

/**
 * How somebody of the team is doing: what of their runs is on, and how the last ones ended. An agent that asks gets the words
 * for that and nothing about the work itself, which may be none of its business.
 */
export async function agentStatus(
  { store, runner }: Services,
  caller: Caller,
  { root }: Pick<Workspace, 'root'>,
  { name, member }: Teammate,
) {
  const live = runner.liveRuns().filter(run => run.workspace === root && isRunOf(run, name));
  const rows = await store.runs({ workspace: root, limit: LOOKED_AT });
  const ended = rows.filter(run => isEnd(run.status) && isRunOf(run, name)).slice(0, SHOWN);
  const queued = live.filter(({ status }) => status === 'queued').length;
  const words = {
    name,
    role: member?.role ?? null,
    roster_status: member?.status ?? null,
    status: live.length > queued ? 'working' : queued > 0 ? 'waiting' : 'idle',
    running: live.length - queued,
    queued,
  };
  if (caller.parent) return { ...words, recent: ended.map(run => ({ status: shownStatus(run) })) };
  const shown = (run: (typeof live)[number]) => ({
    spawn_id: run.id,
    squad_id: run.squadId,
    status: shownStatus(run),
    task_summary: runSummary(run),
    started_at: iso(run.startedAt),
    ended_at: iso(run.endedAt),
  });
  return { ...words, active: live.slice(0, SHOWN * 4).map(shown), recent: ended.map(shown) };
}

const iso = (moment: number | null): string | null =>
  moment === null ? null : new Date(moment).toISOString();
