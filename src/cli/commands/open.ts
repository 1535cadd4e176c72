import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { openBrowser } from '../open-browser.ts';
import { printJson } from '../output/json.ts';
import { pageAddress, pagePath } from '../page-address.ts';
import { refuseAgents } from '../refuse-agents.ts';

/** `squad open [WHAT]`: the page in the user's browser. */
export async function openCommand(
  what: string | undefined,
  { browser }: { browser: boolean },
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  const client = await HubClient.start();
  try {
    const { url, forBrowser } = await pageAddress(client, await pagePath(client, what));
    const isOpened = browser && (await openBrowser(await forBrowser(), process.env, process.platform));
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
