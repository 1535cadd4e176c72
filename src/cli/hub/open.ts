import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { refuseAgents } from '../refuse-agents.ts';
import { printJson } from '../terminal/json.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { openBrowser } from './open-browser.ts';
import { inProject, pageAddress, pagePath } from './web-address.ts';

/** `squad open [WHAT]`: the page in the user's browser. */
export async function openCommand(
  what: string | undefined,
  { browser, ip = false }: { browser: boolean; ip?: boolean },
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  const client = await HubClient.start();
  try {
    const place = await pagePath(client, what);
    const path = await inProject(client, place, workspaceRoot(context.workspace));
    // Printed; the browser gets another one, which is used up at once.
    const warn = (warning: string) => context.err.write(`${context.style.yellow(warning)}\n`);
    const url = await pageAddress(client, path, { ip, warn });
    const isOpened =
      browser && (await openBrowser(await pageAddress(client, path, { ip }), process.env, process.platform));
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
