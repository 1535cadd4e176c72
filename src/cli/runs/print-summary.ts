import type { ShownRun } from '../../schema/run.ts';
import { type CliContext, print } from '../context.ts';
import type { HubClient } from '../hub-client.ts';
import { loginHints } from './login-hints.ts';
import { summaryLines } from './run-summary.ts';
import type { RunViews } from './run-view.ts';

/** What runs came to, with what Squad saw for itself. Gives the runs that these ids name. */
export async function printSummary(
  client: HubClient,
  ids: string[],
  views: RunViews,
  context: CliContext,
): Promise<ShownRun[]> {
  const { runs } = await client.call('find_runs', { ids });
  for (const run of runs) views.see(run);
  const shown = views.list();
  const logins = await loginHints(
    client,
    shown.map(run => run.error),
  );
  print(context, summaryLines(shown, context.out.columns, context.style, logins));
  return runs;
}
