import type { Clock } from '../../base/clock.ts';
import type { Event } from '../../schema/event.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import type { Store } from '../ports/store.ts';
import type { TeamCost, TeamEntry, TeamRun, TeamState } from './team-text.ts';

/** As many as the file shows. */
const MOST = 100;

/** Who is at work in a workspace, and what was done there last. */
export async function teamState(store: Store, clock: Clock, workspace: string): Promise<TeamState> {
  const [active, recent] = await Promise.all([
    store.runs({ workspace, status: ['queued', 'running', 'waiting_review'], limit: MOST }),
    store.runs({ workspace, limit: MOST }),
  ]);
  return {
    at: clock.now(),
    active: active.map(run => ({
      ...teamRun(run),
      status: run.status,
      since: run.startedAt ?? run.createdAt,
    })),
    recent: recent
      .filter(run => run.endedAt !== null)
      .map(run => ({ ...teamRun(run), ...teamCost(run), status: shownStatus(run), endedAt: run.endedAt! })),
  };
}

/** The line of the log for a start or an end; null for any other event. `answer` is what the run said. */
export function teamEntry({ at, body }: Event, run: Run, answer: string): TeamEntry | null {
  if (body.type === 'run.started') return { ...teamRun(run), kind: 'start', at };
  if (body.type === 'run.ended')
    return {
      ...teamRun(run),
      ...teamCost(run),
      ...{ kind: 'end', at, status: shownStatus(body) },
      result: answer.trim() || (body.error ? `${body.error.code}: ${body.error.message}` : ''),
    };
  return null;
}

const teamRun = (run: Run): TeamRun => ({
  runId: run.id,
  squadId: run.squadId,
  name: run.roleId ?? run.options.subagent,
  engine: run.engine,
  model: run.model,
  summary: runSummary(run),
});

const teamCost = ({ startedAt, endedAt, usage }: Run): TeamCost => ({
  durationMs: startedAt !== null && endedAt !== null ? endedAt - startedAt : null,
  costUsd: usage?.costUsd ?? null,
  costIsEstimated: usage?.costIsEstimated ?? false,
  tokens: usage && { input: usage.input, output: usage.output },
});
