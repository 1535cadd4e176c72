import { allowed } from '../core/policy.ts';
import type { Caller } from '../core/ports/workspace.ts';
import type { Services } from '../operations/operation.ts';
import { subjectOf } from '../operations/scope.ts';
import { readTeam } from '../operations/team/read-team.ts';
import { teammates } from '../operations/team/team-agents.ts';
import type { Face } from '../wire/face/face.ts';
import { teamPage } from './team-pages.ts';
import { AGENT_TEMPLATE, AGENTS, BACKLOG, DECISIONS, LATEST, METRICS, ROSTER } from './team-uris.ts';

const JSON_TYPE = 'application/json';

type Resources = NonNullable<Face['resources']>;
type Complete = NonNullable<Face['complete']>;

const LISTED: [uri: string, name: string, description: string][] = [
  [ROSTER, 'roster', 'Who is on the team: .squad/team.md.'],
  [DECISIONS, 'decisions', 'What the team has decided, newest first.'],
  [LATEST, 'decisions-latest', 'The last ten decisions.'],
  [BACKLOG, 'backlog', 'What is to be done: .squad/backlog.md.'],
  [AGENTS, 'agents', 'The agents of the team, and which are at work.'],
  [METRICS, 'metrics', 'Runs, tokens, money and time, as far as they were reported.'],
];

/** What the team knows, for everybody who works here: the user's clients, and agents. */
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
              description: 'Whether an agent is at work, and how its last runs ended.',
              mimeType: JSON_TYPE,
            },
            {
              uriTemplate: AGENT_TEMPLATE('history'),
              name: 'agent-history',
              description: 'What an agent wrote down last: its history.md.',
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

/** Names for the place in the templates. */
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
