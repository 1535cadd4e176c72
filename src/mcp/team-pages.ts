import { nearest } from '../base/nearest.ts';
import { firstThatFit } from '../core/output/digest.ts';
import type { Caller, Workspace } from '../core/ports/workspace.ts';
import type { Decision } from '../core/team/decisions.ts';
import type { Services } from '../operations/operation.ts';
import { agentStatus } from '../operations/team/agent-status.ts';
import { atWork, type Teammate, teammates } from '../operations/team/team-agents.ts';
import { teamMetrics } from '../operations/team/team-metrics.ts';
import { SquadError } from '../schema/error.ts';
import { AGENTS, agentIn, BACKLOG, DECISIONS, LATEST, METRICS, ROSTER } from './team-uris.ts';

const LATEST_COUNT = 10;
const LAST_ENTRIES = 20;
/** A client puts a page into a model's context whole. */
const LONGEST = 200_000;

/** What a resource of the team says now; null when there is none of that name. */
export async function teamPage(services: Services, caller: Caller, uri: string): Promise<object | null> {
  const agent = agentIn(uri);
  const read = PAGES[uri];
  if (!agent && !read) return null;
  const workspace = await services.workspaces.open(caller);
  if (!agent) return read!(workspace, services, caller);
  const found = await teammateNamed(workspace, agent.name);
  if (agent.page === 'status') return agentStatus(services, caller, workspace, found);
  return historyPage(workspace, found);
}

type Page = (workspace: Workspace, services: Services, caller: Caller) => Promise<object>;

const PAGES: Readonly<Record<string, Page>> = {
  [ROSTER]: ({ team }) => team.roster(),
  [BACKLOG]: ({ team }) => team.backlog(),
  [DECISIONS]: workspace => decisionsPage(workspace, Number.POSITIVE_INFINITY),
  [LATEST]: workspace => decisionsPage(workspace, LATEST_COUNT),
  [AGENTS]: agentsPage,
  [METRICS]: ({ root }, services, caller) => teamMetrics(services, caller, root),
};

async function decisionsPage({ team }: Workspace, most: number): Promise<object> {
  const { decisions, notes } = await team.decisions();
  const wanted = decisions.slice(0, Math.min(most, decisions.length)).map(shownDecision);
  const shown = firstThatFit(wanted, LONGEST);
  const left = wanted.length - shown.length;
  return {
    decisions: shown,
    total: decisions.length,
    notes:
      left > 0 ? [`${left} older ones are left out: squad_decision_search finds them.`, ...notes] : notes,
  };
}

/** Its text only where that says more than its parts. */
const shownDecision = ({ id, title, date, by, what, why, text, file, merged }: Decision) => ({
  ...{ id, title, date, by, what, why, file: `.squad/${file}`, merged },
  ...(what === null && { text }),
});

async function agentsPage(workspace: Workspace, services: Services): Promise<object> {
  const workOf = atWork(services, workspace.root);
  const agents = (await teammates(workspace)).map(({ name, member, hasCharter, hasHistory }) => ({
    name,
    role: member?.role ?? null,
    roster_status: member?.status ?? null,
    has_charter: hasCharter,
    has_history: hasHistory,
    ...workOf(name),
  }));
  return { agents };
}

async function historyPage({ team }: Workspace, { name }: Teammate): Promise<object> {
  const entries = (await team.history(name)) ?? [];
  const last = firstThatFit(entries.slice(-LAST_ENTRIES).reverse(), LONGEST);
  return {
    name,
    entries: last,
    total: entries.length,
    ...(entries.length === 0 && { note: `There is no .squad/agents/${name}/history.md, or nothing in it.` }),
  };
}

async function teammateNamed(workspace: Workspace, name: string): Promise<Teammate> {
  const team = await teammates(workspace);
  const found =
    team.find(mate => mate.name === name) ??
    team.find(mate =>
      [mate.name, mate.member?.name].some(known => known?.toLowerCase() === name.toLowerCase()),
    );
  if (found) return found;
  const near = nearest(
    name.slice(0, 100),
    team.map(mate => mate.name),
  );
  throw new SquadError('AGENT_UNKNOWN', `There is no agent ${name.slice(0, 100)} on this team`, {
    suggestions: [near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'squad://agents has all of them.'],
  });
}
