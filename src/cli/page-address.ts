import { readFileSync } from 'node:fs';
import type { HubStatus } from '../operations/operation.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { CliContext } from './context.ts';
import type { HubClient } from './hub-client.ts';

export interface PageAddress {
  /** For the user's eyes: it has the token in it. */
  url: string;
  /** For a command line, which every user of the machine can read: good once, and only for seconds. */
  forBrowser(): Promise<string>;
}

/** Views that are not of one run or squad. */
export const VIEWS = [
  'inbox',
  'reviews',
  'backlog',
  'decisions',
  'cost',
  'gateway',
  'events',
  'settings',
] as const;

/** The page at a path of it, with what lets a browser in. */
export async function pageAddress(client: HubClient, path: string): Promise<PageAddress> {
  const { url, tokenFile } = await client.call<Pick<HubStatus, 'url' | 'tokenFile'>>('open_page');
  if (url === null)
    throw new SquadError('HUB_UNREACHABLE', 'The hub has no port: there is no page', {
      suggestions: ['`squad hub log` shows why.'],
    });
  const { origin } = new URL(url);
  const token = readFileSync(tokenFile, 'utf8').trim();
  return { url: `${origin}${path}#token=${token}`, forBrowser };

  async function forBrowser(): Promise<string> {
    const response = await fetch(`${origin}/api/ticket`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ purpose: 'open', path }),
    });
    if (!response.ok) throw new SquadError('HUB_UNREACHABLE', `The hub gave no ticket: ${response.status}`);
    const { ticket } = (await response.json()) as { ticket: string };
    return `${origin}/api/open?ticket=${ticket}`;
  }
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

/** Where the page is, for links on a screen that somebody looks at; without what lets a browser in. */
export async function pageOrigin(client: HubClient, { out, json }: CliContext): Promise<string | null> {
  if (!out.isTTY || json) return null;
  // An agent may have a screen too, and may not ask this: a line without a link is no reason to stop.
  const status = await client.call<HubStatus>('hub_status').catch(() => null);
  return status?.url ? new URL(status.url).origin : null;
}
