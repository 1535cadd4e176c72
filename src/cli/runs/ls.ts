import { basename } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { isEnd, type Run, RunStatus, runSummary } from '../../schema/run.ts';
import type { Need, RunCard } from '../../schema/run-card.ts';
import { type NamedRun, runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { workspaceFilter } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { branchText, paintStatus, reviewLimitText, STALL_TEXT } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { type Column, formatTable } from '../terminal/table.ts';

type Listed = NamedRun & { hub: string | null } & Pick<
    Run,
    'id' | 'status' | 'workspace' | 'createdAt' | 'startedAt' | 'endedAt'
  > &
  (
    | Pick<RunCard, 'sandbox' | 'machine' | 'limitedUntil'>
    | { options: Pick<Run['options'], 'sandbox' | 'machine' | 'limit'> }
  );

function sandboxMark(run: Listed): string {
  const level = 'sandbox' in run ? run.sandbox : run.options.sandbox.level;
  return level === 'off' ? '' : ` [${level}]`;
}

/** How long the run waits for a usage limit. Null if it does not. */
function limitMark(run: Listed, style: Style): string | null {
  const until = 'limitedUntil' in run ? run.limitedUntil : (run.options.limit?.until ?? null);
  if (until === null || run.status !== 'waiting_limit') return null;
  return paintStatus(run.status, style, `limited ${formatDuration(Math.max(0, until - Date.now()))}`);
}

const machineOf = (run: Listed): string | null => ('machine' in run ? run.machine : run.options.machine);

function runTable<R extends Listed>(
  runs: readonly R[],
  { out, style }: CliContext,
  { state, text, all = false }: { state(run: R): string; text(run: R): string; all?: boolean },
): string[] {
  const now = Date.now();
  const hasMachines = runs.some(run => machineOf(run) !== null);
  const took = (run: R) =>
    run.startedAt === null
      ? '–'
      : formatDuration((run.endedAt ?? now) - run.startedAt) + (isEnd(run.status) ? '' : '…');
  const isNarrow = out.columns < NARROW;
  const columns: (Column & { cell(run: R): string })[] = [
    { title: 'run', cell: run => run.id },
    { title: 'state', cell: state },
    {
      title: 'role',
      shrinkTo: 8,
      cell: run => style.role(runName(run), visibleLine(runName(run))),
    },
    ...(all ? [{ title: 'workspace', shrinkTo: 9, cell: workspaceName }] : []),
    // A narrow screen has no room for engine and machine beside the task.
    ...(isNarrow ? [] : [{ title: 'engine', cell: (run: R) => `${run.engine}${sandboxMark(run)}` }]),
    ...(runs.some(({ hub }) => hub !== null)
      ? [{ title: 'hub', shrinkTo: 8, cell: (run: R) => visibleLine(run.hub ?? '–') }]
      : []),
    ...(hasMachines ? [{ title: 'machine', cell: (run: R) => machineOf(run) ?? '–' }] : []),
    { title: 'asked', align: 'right', cell: run => `${formatDuration(now - run.createdAt)} ago` },
    ...(isNarrow ? [] : [{ title: 'took', align: 'right' as const, cell: took }]),
    { title: 'task', shrinkTo: 0, cell: text },
  ];
  return formatTable(
    columns,
    runs.map(run => columns.map(({ cell }) => cell(run))),
    out.columns,
    style,
  );
}

const NARROW = 100;

const workspaceName = ({ workspace }: Listed): string => visibleLine(basename(workspace) || workspace);

type Board = Output<'list_board'>;

const MAX_PER_PAGE = 200;
const ATTENTION_TEXT: Record<Need, string> = {
  needs_you: 'need you',
  failed: 'failed',
  running: 'running',
  queued: 'queued',
  done: 'done',
};

/** `squad ls --need`: sorts runs by the attention that they need: questions first, then failures, then the rest. */
async function listByAttention({ all, running, limit }: LsOptions, context: CliContext): Promise<number> {
  using client = await HubClient.start({ workspace: context.workspace });
  const { runs, counts } = await board(client, limit, {
    ...workspaceFilter(all, context),
    ...(running && { status: ['needs_you', 'running', 'queued'] }),
  });
  return printResult(context, { runs, counts }, () =>
    runs.length === 0
      ? noRuns(all, 'squad ls --need --all')
      : [...boardTable(runs, context, all), '', countsLine(counts, context.style)],
  );
}

const noRuns = (all: boolean | undefined, listAll: string): string[] =>
  (all
    ? ['No runs yet.', 'Start one: squad run ROLE "TASK"   (list roles: squad roles)']
    : ['No runs in this workspace yet.', `Start one: squad run ROLE "TASK"   (every workspace: ${listAll})`]
  ).map(line => withOwnCommand(line));

async function board(
  client: HubClient,
  max: number,
  filter: object,
): Promise<Pick<Board, 'runs' | 'counts'>> {
  const runs: RunCard[] = [];
  let cursor: string | undefined;
  for (;;) {
    const limit = Math.min(MAX_PER_PAGE, max - runs.length);
    const page = await client.call('list_board', { ...filter, cursor, limit });
    runs.push(...page.runs);
    if (page.next === null || runs.length >= max) return { runs, counts: page.counts };
    cursor = page.next;
  }
}

export const boardTable = (runs: RunCard[], context: CliContext, all = false): string[] =>
  runTable(runs, context, {
    all,
    state: run => stateOf(run, context.style),
    text: ({ asking, need, error, title }) => {
      if (asking)
        return `${visibleLine(asking.question)} ${withOwnCommand(`squad answer ${shellWord(asking.id)}`)}`;
      return visibleLine(need === 'needs_you' && error ? error.message : title);
    },
  });

function stateOf(run: RunCard, style: Style): string {
  const { need, quiet, status } = run;
  const limit = reviewLimitText({ ...run, needsYou: need === 'needs_you' }, style);
  if (limit) return limit;
  if (need === 'needs_you') return style.yellow('asks you');
  const limited = limitMark(run, style);
  if (limited) return limited;
  return quiet
    ? style.yellow(STALL_TEXT[quiet.state])
    : (branchText(run, style) ?? paintStatus(status, style));
}

function countsLine(counts: Board['counts'], style: Style): string {
  const present = (Object.keys(ATTENTION_TEXT) as Need[]).filter(need => counts[need] > 0);
  return style.dim(present.map(need => `${ATTENTION_TEXT[need]} ${counts[need]}`).join(' · '));
}

export interface LsOptions {
  all?: boolean;
  running?: boolean;
  limit: number;
  need?: boolean;
}

/** `squad ls`: lists runs, newest first. */
export async function lsCommand(options: LsOptions, context: CliContext): Promise<number> {
  const { all, running, limit, need } = options;
  if (need) return listByAttention(options, context);
  const { runs } = await HubClient.ask({ workspace: context.workspace }, 'list_runs', {
    ...workspaceFilter(all, context),
    ...(running && { status: RunStatus.options.filter(status => !isEnd(status)) }),
    limit,
  });
  return printResult(context, { runs }, () =>
    runs.length === 0
      ? noRuns(all, 'squad ls --all')
      : runTable(runs, context, {
          all,
          state: run =>
            run.quiet
              ? context.style.yellow(STALL_TEXT[run.quiet.state])
              : (reviewLimitText(run, context.style) ??
                limitMark(run, context.style) ??
                branchText(run, context.style) ??
                paintStatus(run.status, context.style)),
          text: run => visibleLine(run.needsYou && run.error ? run.error.message : runSummary(run)),
        }),
  );
}
