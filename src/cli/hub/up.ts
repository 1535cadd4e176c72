import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { backOff, closedDoor, HubClient, MOST_CLOSED_DOORS } from '../hub-client.ts';
import { refuseAgents } from '../refuse-agents.ts';
import { printJson } from '../terminal/json.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { inProject, pageAddress } from './web-address.ts';

/** `squad up`: keeps the hub, and with it the page, there until Ctrl-C. */
export async function upCommand(context: CliContext): Promise<number> {
  await refuseAgents();
  const interrupted = new Promise<'interrupted'>(settle => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => settle('interrupted'));
  });
  let shown = '';
  for (let closedDoors = 0; closedDoors <= MOST_CLOSED_DOORS; ) {
    const since = performance.now();
    const client = await HubClient.start();
    try {
      const path = await inProject(client, '/', workspaceRoot(context.workspace));
      const url = await pageAddress(client, path);
      const { origin } = new URL(url);
      if (origin !== shown) show(url, context);
      shown = origin;
      const end = await Promise.race([client.untilGone(), interrupted]);
      if (end === 'interrupted') return EXIT.done;
      if (end === 'stop') {
        context.err.write('The hub was stopped. Agents go on; the next command finds them.\n');
        return EXIT.done;
      }
    } finally {
      client.close();
    }
    closedDoors = performance.now() - since > STEADY_MS ? 0 : closedDoors + 1;
    if (closedDoors > 0) await backOff(closedDoors - 1);
  }
  throw closedDoor();
}

/** A hub that was there this long did not end because it was asked. */
const STEADY_MS = 5_000;

function show(url: string, context: CliContext): void {
  if (context.json) printJson(context.out, { url });
  else print(context, [url]);
  context.err.write('The address opens one browser, within 10 minutes; `squad open` opens more.\n');
  context.err.write('The hub stays while this runs. Ctrl-C leaves; agents go on.\n');
}
