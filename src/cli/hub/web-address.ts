import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { VIEWS } from '../../schema/web-paths.ts';
import { findGitFolder } from '../../workspace/git/git-folder.ts';
import type { CliContext } from '../context.ts';
import type { HubClient } from '../hub-client.ts';

/** An address of the web UI at this path, with a key that lets one browser in, once. */
export async function webAddress(
  client: HubClient,
  path: string,
  { ip = false, warn = () => {} }: { ip?: boolean; warn?: (warning: string) => void } = {},
): Promise<string> {
  // Over the hub's own socket: on its port another program may answer if the hub has just gone.
  const { opened, warnings } = await client.call('open_page', { ip });
  for (const warning of warnings) warn(warning);
  if (opened === null)
    throw new SquadError('HUB_UNREACHABLE', 'The hub has no port: there is no page', {
      suggestions: ['`squad hub log` shows why.'],
    });
  return `${opened.origin}${path}#key=${opened.key}`;
}

/** Where a view, a run or a squad is on the page. Throws RUN_UNKNOWN or SQUAD_UNKNOWN. */
export async function webPath(client: HubClient, what: string | undefined): Promise<string> {
  if (what === undefined) return '/';
  if (VIEWS.some(view => view === what)) return `/${what}`;
  const { runs } = await client.call('find_runs', {
    ids: [what],
  });
  const run = runs.find(({ id }) => id.replace('run_', '').startsWith(what.replace('run_', '')));
  return run ? `/r/${run.id}` : `/s/${runs[0]!.squadId}`;
}

/** The project somebody is in, where it is one: what the page shows is of it, until they choose otherwise. */
export async function inProject(client: HubClient, path: string, folder: string): Promise<string> {
  if (/^\/[rs]\//.test(path)) return path;
  const { workspaces } = await client.call('list_workspaces');
  const isKnown = workspaces.some(one => one.path === folder) || existsSync(join(folder, '.squad'));
  // One that has never seen Squad is where somebody wants to start.
  const project = isKnown ? folder : (await findGitFolder(folder))?.root;
  return project === undefined ? path : `${path}?${new URLSearchParams({ w: project })}`;
}

/** Where the page is, for links on a screen that somebody looks at; without what lets a browser in. */
export async function pageOrigin(client: HubClient, { out, json }: CliContext): Promise<string | null> {
  if (!out.isTTY || json) return null;
  // An agent may have a screen too, and may not ask this: a line without a link is no reason to stop.
  const status = await client.call('hub_status').catch(() => null);
  return status?.page ?? null;
}
