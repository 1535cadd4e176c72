import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { openBrowser } from '../open-browser.ts';
import { printJson } from '../output/json.ts';
import { inProject, pageAddresses, pagePath } from '../page-address.ts';
import { refuseAgents } from '../refuse-agents.ts';
import { workspaceRoot } from '../workspace-root.ts';

/** `squad open [WHAT]`: the page in the user's browser. */
export async function openCommand(
  what: string | undefined,
  { browser }: { browser: boolean },
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  const client = await HubClient.start();
  try {
    const path = await pagePath(client, what);
    const newAddress = await pageAddresses(
      client,
      await inProject(client, path, workspaceRoot(context.workspace)),
      warning => context.err.write(`${context.style.yellow(warning)}\n`),
    );
    const isOpened = browser && (await openBrowser(await newAddress(), process.env, process.platform));
    // Not the one the browser has, which is used up by now.
    const url = await newAddress();
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
