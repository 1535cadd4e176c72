import { percentDecoded } from '../base/percent-decoded.ts';

export const ROSTER = 'squad://roster';
export const DECISIONS = 'squad://decisions';
export const LATEST = 'squad://decisions/latest';
export const BACKLOG = 'squad://backlog';
export const AGENTS = 'squad://agents';
export const METRICS = 'squad://metrics';

export type AgentPage = 'status' | 'history';
export const AGENT_TEMPLATE = (page: AgentPage): string => `${AGENTS}/{name}/${page}`;
export const agentUri = (name: string, page: AgentPage): string =>
  `${AGENTS}/${encodeURIComponent(name)}/${page}`;

/** Null for a URI that is none of an agent's. */
export function agentIn(uri: string): { name: string; page: AgentPage } | null {
  const [, name, page] = /^squad:\/\/agents\/([^/]{1,300})\/(status|history)$/.exec(uri) ?? [];
  const decoded = name === undefined ? null : percentDecoded(name);
  return decoded === null ? null : { name: decoded, page: page as AgentPage };
}

/** What a change of these files of `.squad` changes; null stands for any of them. */
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
