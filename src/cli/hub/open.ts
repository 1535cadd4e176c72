import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { VIEWS } from '../../schema/web-ui.ts';
import { findGitFolder } from '../../workspace/git/git-folder.ts';
import { refuseAgents, workspaceRoot } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';

/** Address of the web UI at this path, with a key that one browser can use once. */
export async function webAddress(
  client: HubClient,
  path: string,
  { ip = false, warn = () => {} }: { ip?: boolean; warn?: (warning: string) => void } = {},
): Promise<string> {
  // Requested through the socket: if the hub has just exited, another program may answer on its port.
  const { opened, warnings } = await client.call('open_page', { ip });
  for (const warning of warnings) warn(warning);
  if (opened === null)
    throw new SquadError('HUB_UNREACHABLE', 'The hub has no HTTP port, so there is no web UI', {
      suggestions: ['`squad hub log` shows why.'],
    });
  return `${opened.origin}${path}#key=${opened.key}`;
}

/** Path of a page, a run or a squad. Throws RUN_UNKNOWN or SQUAD_UNKNOWN. */
async function webPath(client: HubClient, target: string | undefined): Promise<string> {
  if (target === undefined) return '/';
  if (VIEWS.some(view => view === target)) return `/${target}`;
  const { runs } = await client.call('find_runs', { ids: [target] });
  const run = runs.find(({ id }) => id.replace('run_', '').startsWith(target.replace('run_', '')));
  return run ? `/r/${run.id}` : `/s/${runs[0]!.squadId}`;
}

/** Adds the project of the current folder to the address, so that the web UI shows it first. */
export async function withProject(client: HubClient, path: string, folder: string): Promise<string> {
  if (/^\/[rs]\//.test(path)) return path;
  const { workspaces } = await client.call('list_workspaces');
  const isKnown =
    workspaces.some(({ path: known }) => known === folder) || existsSync(join(folder, '.squad'));
  // A repository without Squad is a project too: the user may want to start there.
  const project = isKnown ? folder : (await findGitFolder(folder))?.root;
  return project === undefined ? path : `${path}?${new URLSearchParams({ w: project })}`;
}

/** Address of the web UI without a key, for links in the terminal. */
export async function webOrigin(client: HubClient, { out, json }: CliContext): Promise<string | null> {
  if (!out.isTTY || json) return null;
  // The hub refuses this call to an agent, which may have a terminal too. Its lines then have no links.
  const status = await client.call('hub_status').catch(() => null);
  return status?.page ?? null;
}

/** Opens an address in the user's browser, which keeps running after this program. False without a browser. */
function openBrowser(url: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Promise<boolean> {
  const program = browserOf(env, platform);
  if (program === null) return Promise.resolve(false);
  return new Promise(resolve => {
    const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => resolve(true));
    child.unref();
  });
}

/** Without a display `xdg-open` would start a browser in this terminal. */
function browserOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | null {
  if (env.BROWSER) return env.BROWSER.split(':')[0]!;
  if (platform === 'darwin') return 'open';
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null;
}

/** `squad open [TARGET]`: opens the web UI in the user's browser. */
export async function openCommand(
  target: string | undefined,
  { browser, ip = false }: { browser: boolean; ip?: boolean },
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  using client = await HubClient.start();
  const path = await withProject(client, await webPath(client, target), workspaceRoot(context.workspace));
  const warn = (warning: string) => printNotes(context, [warning]);
  // The printed address. The browser gets a different one, because each address works only once.
  const url = await webAddress(client, path, { ip, warn });
  const isOpened =
    browser && (await openBrowser(await webAddress(client, path, { ip }), process.env, process.platform));
  printResult(context, { url, isOpened }, () => [url]);
  if (browser && !isOpened && !context.json)
    context.err.write('No browser could be started. Open the address yourself.\n');
  return EXIT.done;
}
