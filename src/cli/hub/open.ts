import { spawn } from 'node:child_process';
import { refuseAgents, workspaceRoot } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { webAddress, webPath, withProject } from './web-address.ts';

/** Opens an address in the user's browser, which outlives this program. False without a browser. */
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
  // This address is printed. The browser gets another one, because each works only once.
  const url = await webAddress(client, path, { ip, warn });
  const isOpened =
    browser && (await openBrowser(await webAddress(client, path, { ip }), process.env, process.platform));
  printResult(context, { url, isOpened }, () => [url]);
  if (browser && !isOpened && !context.json)
    context.err.write('No browser could be started. Open the address yourself.\n');
  return EXIT.done;
}
