import { visibleLine } from '../../base/text.ts';
import type { Event } from '../../schema/event.ts';
import { isEnd, type ShownRun } from '../../schema/run.ts';
import { describeEvent } from '../../schema/run-text.ts';
import { workspaceFilter } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { formatCost } from '../cost/figures.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime, formatDuration } from '../terminal/duration.ts';
import { eventLine, printJson } from '../terminal/json.ts';
import { padEnd, truncate } from '../terminal/width.ts';
import { follow } from './follow.ts';

export interface EventsOptions {
  run?: string;
  all?: boolean;
  follow?: boolean;
  limit: number;
}

const ID_WIDTH = 16;
const TYPE_WIDTH = 19;
const FIGURES = { duration: formatDuration, money: (usd: number) => formatCost(usd) };

/** `squad events`: recent events, newest last. */
export async function eventsCommand(options: EventsOptions, context: CliContext): Promise<number> {
  using client = await HubClient.start({ workspace: context.workspace });
  const run =
    options.run === undefined ? undefined : (await client.call('find_runs', { ids: [options.run] })).runs[0]!;
  const { workspace } = workspaceFilter(options.all || run !== undefined, context);
  const page = await client.call('list_events', { run: run?.id, workspace, limit: options.limit });
  const oldestFirst = page.events.toReversed();
  if (context.json && !options.follow) printJson(context.out, { events: oldestFirst, next: page.next });
  else for (const event of oldestFirst) printEvent(event, context);
  if (!options.follow) {
    if (!context.json && oldestFirst.length === 0) print(context, ['No events yet.']);
    return EXIT.done;
  }
  if (oldestFirst.some(event => isLast(event, run)) || (run && isEnd(run.status))) return EXIT.done;
  await follow(client, {
    runId: run?.id,
    workspace,
    after: oldestFirst.at(-1)?.seq ?? 0,
    onEvent: event => {
      printEvent(event, context);
      return isLast(event, run);
    },
  });
  return EXIT.done;
}

/** True for the event that ends the run. No event follows it. */
const isLast = ({ runId, body }: Event, run: ShownRun | undefined): boolean =>
  run !== undefined && runId === run.id && body.type === 'run.ended';

function printEvent(event: Event, { out, json, style }: CliContext): void {
  if (json) {
    out.write(eventLine(event));
    return;
  }
  const { at, runId, squadId, body } = event;
  const line = [
    style.dim(formatDateTime(at)),
    padEnd(runId ?? squadId ?? '–', ID_WIDTH),
    padEnd(body.type, TYPE_WIDTH),
    visibleLine(describeEvent(body, FIGURES)),
  ].join('  ');
  out.write(`${truncate(line, out.columns)}\n`);
}
