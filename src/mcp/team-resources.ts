import { percentDecoded } from '../base/text.ts';
import { firstThatFit } from '../core/output/digest.ts';
import { allowed } from '../core/policy.ts';
import type { Caller, Workspace } from '../core/ports/workspace.ts';
import type { Decision } from '../core/team/decisions.ts';
import { didYouMean } from '../core/text.ts';
import { subjectOf } from '../operations/agent-services.ts';
import type { Services } from '../operations/operation.ts';
import {
  agentStatus,
  readTeam,
  runCounts,
  type Teammate,
  teamMetrics,
  teammates,
} from '../operations/team/team-members.ts';
import { SquadError } from '../schema/error.ts';
import type { Face } from '../wire/face/face.ts';

const ROSTER = 'squad://roster';
const DECISIONS = 'squad://decisions';
const LATEST = 'squad://decisions/latest';
const BACKLOG = 'squad://backlog';
export const AGENTS = 'squad://agents';
export const METRICS = 'squad://metrics';

type AgentPage = 'status' | 'history';
const AGENT_TEMPLATE = (page: AgentPage): string => `${AGENTS}/{name}/${page}`;
export const agentUri = (name: string, page: AgentPage): string =>
  `${AGENTS}/${encodeURIComponent(name)}/${page}`;

/** Name and page in the URI of an agent. Null for any other URI. */
function agentIn(uri: string): { name: string; page: AgentPage } | null {
  const [, name, page] = /^squad:\/\/agents\/([^/]{1,300})\/(status|history)$/.exec(uri) ?? [];
  const decoded = name === undefined ? null : percentDecoded(name);
  return decoded === null ? null : { name: decoded, page: page as AgentPage };
}

/** Resources that change with these files of `.squad`; null stands for any file. */
export function urisOf(changed: ReadonlySet<string> | null): string[] {
  if (changed === null) return [ROSTER, DECISIONS, LATEST, BACKLOG, AGENTS];
  const uris = new Set<string>();
  for (const path of changed) {
    const [first, name, file] = path.split(/[/\\]/);
    if (first === 'team.md') uris.add(ROSTER).add(AGENTS);
    if (first === 'decisions.md' || first === 'decisions') uris.add(DECISIONS).add(LATEST);
    if (first === 'backlog.md') uris.add(BACKLOG);
    if (first === 'agents') uris.add(AGENTS);
    if (first === 'agents' && name !== undefined && file === 'history.md')
      uris.add(agentUri(name, 'history'));
  }
  return [...uris];
}

const LATEST_COUNT = 10;
const LAST_ENTRIES = 20;
/** Maximum length of a resource, because clients put a whole resource into a model's context. */
const MAX_PAGE_LENGTH = 200_000;

/** Current content of a team resource. Null when there is no such resource. */
async function teamPage(services: Services, caller: Caller, uri: string): Promise<object | null> {
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
  const shown = firstThatFit(wanted, MAX_PAGE_LENGTH);
  const left = wanted.length - shown.length;
  return {
    decisions: shown,
    total: decisions.length,
    notes:
      left > 0 ? [`${left} older ones are left out: squad_decision_search finds them.`, ...notes] : notes,
  };
}

/** A decision for display. Its text is included only if it says more than the other fields. */
const shownDecision = ({ id, title, date, by, what, why, text, file, merged }: Decision) => ({
  ...{ id, title, date, by, what, why, file: `.squad/${file}`, merged },
  ...(what === null && { text }),
});

async function agentsPage(workspace: Workspace, services: Services): Promise<object> {
  const workOf = runCounts(services, workspace.root);
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
  const last = firstThatFit(entries.slice(-LAST_ENTRIES).reverse(), MAX_PAGE_LENGTH);
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
  const names = team.map(mate => mate.name);
  throw new SquadError('AGENT_UNKNOWN', `There is no agent ${name.slice(0, 100)} on this team`, {
    suggestions: [didYouMean(name.slice(0, 100), names) ?? 'squad://agents lists all agents.'],
  });
}

const JSON_TYPE = 'application/json';

type Resources = NonNullable<Face['resources']>;
type Complete = NonNullable<Face['complete']>;

const LISTED: [uri: string, name: string, description: string][] = [
  [ROSTER, 'roster', 'Who is on the team: .squad/team.md.'],
  [DECISIONS, 'decisions', 'Decisions of the team, newest first.'],
  [LATEST, 'decisions-latest', 'The last ten decisions.'],
  [BACKLOG, 'backlog', 'Open work: .squad/backlog.md.'],
  [AGENTS, 'agents', 'Agents of the team, and which of them are running.'],
  [METRICS, 'metrics', 'Runs, tokens, cost and time, as far as they were reported.'],
];

/** The team's resources, for the user's clients and for agents. */
export function teamResources(services: Services, caller: Caller): Resources {
  const isAllowed = () => allowed(subjectOf({ services, caller }), readTeam);
  return {
    watchable: true,
    list: async () =>
      isAllowed()
        ? LISTED.map(([uri, name, description]) => ({ uri, name, description, mimeType: JSON_TYPE }))
        : [],
    templates: async () =>
      isAllowed()
        ? [
            {
              uriTemplate: AGENT_TEMPLATE('status'),
              name: 'agent-status',
              description: 'Whether an agent is running, and how its last runs ended.',
              mimeType: JSON_TYPE,
            },
            {
              uriTemplate: AGENT_TEMPLATE('history'),
              name: 'agent-history',
              description: 'Latest entries of an agent: its history.md.',
              mimeType: JSON_TYPE,
            },
          ]
        : [],
    async read(uri) {
      const page = isAllowed() ? await teamPage(services, caller, uri) : null;
      return page && { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(page) }] };
    },
  };
}

/** Suggests values for `{name}` in the resource templates. */
export function completeAgentName(services: Services, caller: Caller): Complete {
  return async ({ ref, argument }) => {
    const isOurs =
      ref.type === 'ref/resource' && ref.uri.startsWith(`${AGENTS}/{name}`) && argument.name === 'name';
    if (!isOurs || !allowed(subjectOf({ services, caller }), readTeam)) return { values: [] };
    const team = await teammates(await services.workspaces.open(caller));
    const begun = argument.value.toLowerCase();
    return { values: team.map(({ name }) => name).filter(name => name.toLowerCase().startsWith(begun)) };
  };
}
