import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HubStatus } from '../operations/operation.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import { findGitFolder } from '../workspace/git-folder.ts';
import type { CliContext } from './context.ts';
import type { HubClient } from './hub-client.ts';

/** Views that are not of one run or squad. */
export const VIEWS = [
  'inbox',
  'reviews',
  'backlog',
  'decisions',
  'cost',
  'gateway',
  'events',
  'search',
  'settings',
] as const;

/** Makes addresses of the page at a path of it, each with a key that lets one browser in, once. What the hub has to say first goes to `warn`. */
export async function pageAddresses(
  client: HubClient,
  path: string,
  warn: (words: string) => void = () => {},
): Promise<() => Promise<string>> {
  const {
    url,
    tokenFile,
    warnings = [],
  } = await client.call<Pick<HubStatus, 'url' | 'tokenFile'> & { warnings?: string[] }>('open_page');
  for (const warning of warnings) warn(warning);
  if (url === null)
    throw new SquadError('HUB_UNREACHABLE', 'The hub has no port: there is no page', {
      suggestions: ['`squad hub log` shows why.'],
    });
  const { origin } = new URL(url);
  const token = readFileSync(tokenFile, 'utf8').trim();
  return async () => {
    const response = await fetch(`${origin}/api/ticket`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ purpose: 'open' }),
    });
    if (!response.ok) throw new SquadError('HUB_UNREACHABLE', `The hub gave no key: ${response.status}`);
    const { ticket } = (await response.json()) as { ticket: string };
    return `${origin}${path}#key=${ticket}`;
  };
}

/** Where a view, a run or a squad is on the page. Throws RUN_UNKNOWN or SQUAD_UNKNOWN. */
export async function pagePath(client: HubClient, what: string | undefined): Promise<string> {
  if (what === undefined) return '/';
  if (VIEWS.some(view => view === what)) return `/${what}`;
  const { runs } = await client.call<{ runs: { id: RunId; squadId: SquadId }[] }>('find_runs', {
    ids: [what],
  });
  const run = runs.find(({ id }) => id.replace('run_', '').startsWith(what.replace('run_', '')));
  return run ? `/r/${run.id}` : `/s/${runs[0]!.squadId}`;
}

/** The project somebody is in, where it is one: what the page shows is of it, until they choose otherwise. */
export async function inProject(client: HubClient, path: string, folder: string): Promise<string> {
  if (/^\/[rs]\//.test(path)) return path;
  const { workspaces } = await client.call<{ workspaces: { path: string }[] }>('list_workspaces');
  const isKnown = workspaces.some(one => one.path === folder) || existsSync(join(folder, '.squad'));
  // One that has never seen Squad is where somebody wants to start.
  const project = isKnown ? folder : (await findGitFolder(folder))?.root;
  return project === undefined ? path : `${path}?${new URLSearchParams({ w: project })}`;
}

/** Where the page is, for links on a screen that somebody looks at; without what lets a browser in. */
export async function pageOrigin(client: HubClient, { out, json }: CliContext): Promise<string | null> {
  if (!out.isTTY || json) return null;
  // An agent may have a screen too, and may not ask this: a line without a link is no reason to stop.
  const status = await client.call<HubStatus>('hub_status').catch(() => null);
  return status?.url ? new URL(status.url).origin : null;
}
