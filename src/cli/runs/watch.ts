import { isEnd } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { pageOrigin } from '../hub/web-address.ts';
import { HubClient } from '../hub-client.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { follow } from './follow.ts';
import { nextHub } from './next-hub.ts';
import { printSummary } from './print-summary.ts';
import { summaryLines } from './run-summary.ts';
import { RunTeller, type TellOptions } from './run-teller.ts';
import { RunViews } from './run-view.ts';
import { untilAnswered } from './until-answered.ts';
import { readBeginning, tellBeginning, type WatchBeginning } from './watch-beginning.ts';

export interface WatchOptions extends TellOptions {
  all?: boolean;
}

const MOST_IN_SUMMARY = 20;

/** `squad watch [ID…]`: what happens to runs from now on; to named ones until they have ended. */
export async function watchCommand(
  ids: string[],
  { all, ...tell }: WatchOptions,
  context: CliContext,
): Promise<number> {
  const workspace = all || ids.length > 0 ? undefined : workspaceRoot(context.workspace);
  const client = await HubClient.start({ workspace: context.workspace });
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    const beginning = await readBeginning(client, ids, workspace);
    const views = new RunViews(beginning.runs);
    const teller = new RunTeller(views, context, tell);
    const isOver = () => ids.length > 0 && views.list().every(run => isEnd(run.status));
    try {
      teller.origin = await pageOrigin(client, context);
      tellBeginning(beginning, { teller, views, context, isQuiet: tell.quiet === true });
      if (!isOver()) await watch();
    } finally {
      teller.close();
    }
    if (!isOver()) {
      if (!context.json) print(context, partingLines(teller, beginning, context));
      return EXIT.interrupted;
    }
    const named = views.list();
    if (!context.json)
      await untilAnswered(hub =>
        printSummary(
          hub,
          named.map(run => run.id),
          views,
          context,
        ),
      );
    return exitFor(named.map(shownStatus));

    function watch(): Promise<void> {
      return follow(client, {
        workspace,
        after: beginning.last,
        signal: leaving.signal,
        onEvent(event) {
          const isNamed = event.runId !== null && beginning.knows(event.runId);
          if ((ids.length === 0 || isNamed) && !beginning.holds(event)) teller.tell(event);
          return isOver();
        },
        async reconnect(gone) {
          // Somebody who stopped it does not want it back; an exit code that is waited for does.
          const isStopped = ids.length === 0 && (await gone.untilGone()) === 'stop';
          const tellWait = () => teller.say(context.style.dim('The hub was stopped; waits for the next.'));
          const next = isStopped ? await nextHub(tellWait, leaving.signal) : await HubClient.start();
          teller.origin = await pageOrigin(next, context);
          return next;
        },
      });
    }
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    client.close();
  }
}

/** What ended while it was watched, and that the rest goes on. */
function partingLines(teller: RunTeller, beginning: WatchBeginning, { out, style }: CliContext): string[] {
  const shown = teller.shown();
  const ended = shown.filter(run => isEnd(run.status) && !beginning.hadEnded(run.id));
  const kept = ended.slice(-MOST_IN_SUMMARY);
  const live = shown.filter(run => !isEnd(run.status)).length;
  const lines = summaryLines(kept, out.columns, style);
  if (ended.length > kept.length)
    lines.push(`  The last ${kept.length} of ${ended.length} that ended; squad ls shows all.`);
  if (live > 0) lines.push(style.dim(`${live} ${live === 1 ? 'run goes' : 'runs go'} on.`));
  return lines;
}
