import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import type { Output } from '../../operations/operations.ts';
import type { Need, RunCard } from '../../schema/run-card.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { paintStatus } from '../terminal/status-text.ts';
import { formatTable } from '../terminal/table.ts';
import { padEnd } from '../terminal/width.ts';

type Counts = Output<'list_board'>['counts'];

const MAX_RUNS = 10;

/**
 * `squad` alone and `squad status`: what is running, what needs the user, and the next commands, for every workspace.
 * Does not start a hub. `squad` alone is a separate program (`src/bin/overview.ts`), so this file must not import zod
 * or commander.
 */
export async function overviewCommand(context: CliContext): Promise<number> {
  using client = await HubClient.findOnly();
  const board = client && (await client.call('list_board', { status: SHOWN, limit: MAX_RUNS }));
  const { runs = [], counts = null } = board ?? {};
  return printResult(context, { hub: client !== null, counts, runs }, () =>
    counts === null ? withoutHub(context) : withHub(runs, counts, context),
  );
}

const SHOWN: Need[] = ['needs_you', 'failed', 'running', 'queued'];
const COUNT_TEXT: Record<Need, (count: number) => string> = {
  needs_you: count => `${count} ${count === 1 ? 'needs' : 'need'} you`,
  failed: count => `${count} failed`,
  running: count => `${count} running`,
  queued: count => `${count} queued`,
  done: count => `${count} done`,
};

type Step = [command: string, effect: string];

const HELP: Step = ['squad help', 'list every command'];
const RUN: Step = ['squad run "Fix the failing test"', 'start an agent in this folder and watch it'];

function withoutHub(context: CliContext): string[] {
  const isFresh = !existsSync(join(homeFolder(process.env), 'runs'));
  return [
    isFresh
      ? 'Squad runs a team of coding agents. Nothing has run yet.'
      : 'The hub is not running; the next command that needs it starts it.',
    '',
    ...steps(isFresh ? FIRST : [['squad ls', 'list your runs here (--all: everywhere)'], RUN, HELP], context),
  ];
}

const FIRST: Step[] = [
  ['squad doctor', 'check this machine: which agent CLI will be used'],
  RUN,
  ['squad demo', 'watch a scripted squad work, without an API key'],
  ['squad init', 'create roles and a config file to edit'],
  HELP,
];

function withHub(runs: RunCard[], counts: Counts, context: CliContext): string[] {
  const { style } = context;
  const present = [...SHOWN, 'done' as const].filter(need => counts[need] > 0);
  return [
    present.length === 0
      ? 'Nothing is running.'
      : present.map(need => COUNT_TEXT[need](counts[need])).join(style.dim(' · ')),
    ...(runs.length === 0 ? [] : ['', ...table(runs, context)]),
    '',
    ...steps(nextSteps(runs, counts), context),
  ];
}

function table(runs: RunCard[], { out, style }: CliContext): string[] {
  const now = Date.now();
  return formatTable(
    [
      { title: 'run' },
      { title: 'state' },
      { title: 'role', shrinkTo: 8 },
      { title: 'folder', shrinkTo: 6 },
      { title: 'asked', align: 'right' },
      { title: 'task', shrinkTo: 0 },
    ],
    runs.map(run => [
      run.id,
      run.need === 'needs_you' ? style.yellow('needs you') : paintStatus(run.status, style),
      style.role(runName(run), visibleLine(runName(run))),
      visibleLine(basename(run.workspace)),
      `${formatDuration(now - run.createdAt)} ago`,
      visibleLine(run.asking?.question ?? (run.need === 'running' ? null : run.error?.message) ?? run.title),
    ]),
    out.columns,
    style,
  );
}

function nextSteps(runs: RunCard[], counts: Counts): Step[] {
  const asking = runs.find(run => run.asking !== null)?.asking;
  const undecided = runs.find(run => run.need === 'needs_you' && run.asking === null);
  const failed = runs.find(run => run.need === 'failed');
  return [
    ...(asking ? [[`squad answer ${shellWord(asking.id)}`, 'read and answer the first question']] : []),
    ...(undecided ? [[`squad review ${shellWord(undecided.id)}`, 'decide how it continues']] : []),
    ...(failed ? [[`squad show ${shellWord(failed.id)}`, 'see why it failed']] : []),
    ...(counts.running + counts.queued > 0 ? [['squad watch --all', 'follow the runs']] : [RUN]),
    ['squad open', 'open the web UI'],
    HELP,
  ] as Step[];
}

function steps(all: readonly Step[], { style }: CliContext): string[] {
  const own = all.map(([command, effect]) => [withOwnCommand(command), effect] as const);
  const width = Math.max(...own.map(([command]) => command.length)) + 2;
  return own.map(([command, effect]) => `  ${padEnd(command, width)}${style.dim(effect)}`);
}
