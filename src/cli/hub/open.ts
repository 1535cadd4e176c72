import { spawn } from 'node:child_process';
import { refuseAgents, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { inProject, webAddress, webPath } from './web-address.ts';

/** Shows an address in the user's browser, which goes on without us. False when there is none to start. */
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

/** Without a screen `xdg-open` would start a browser in this terminal. */
function browserOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | null {
  if (env.BROWSER) return env.BROWSER.split(':')[0]!;
  if (platform === 'darwin') return 'open';
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null;
}

/** `squad open [WHAT]`: the page in the user's browser. */
export async function openCommand(
  what: string | undefined,
  { browser, ip = false }: { browser: boolean; ip?: boolean },
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  const client = await HubClient.start();
  try {
    const place = await webPath(client, what);
    const path = await inProject(client, place, workspaceRoot(context.workspace));
    // Printed; the browser gets another one, which is used up at once.
    const warn = (warning: string) => context.err.write(`${context.style.yellow(warning)}\n`);
    const url = await webAddress(client, path, { ip, warn });
    const isOpened =
      browser && (await openBrowser(await webAddress(client, path, { ip }), process.env, process.platform));
    if (context.json) printJson(context.out, { url, isOpened });
    else {
      print(context, [url]);
      if (browser && !isOpened)
        context.err.write('No browser could be started here: open the address yourself.\n');
    }
    return EXIT.done;
  } finally {
    client.close();
  }
}
