import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { isEnd, type Run, runSummary } from '../../schema/run.ts';
import type { Need, RunCard } from '../../schema/run-card.ts';
import { type NamedRun, runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { limitWord, paintStatus, QUIET_WORDS, statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';

/** What a list of runs has of each, whichever list it is. */
type Listed = NamedRun & Pick<Run, 'id' | 'status' | 'createdAt' | 'startedAt' | 'endedAt'>;

/** The last two are the list's own: how it stands, painted, and what to say of it. */
function runTable<R extends Listed>(
  runs: readonly R[],
  { out, style }: CliContext,
  { state, words }: { state(run: R): string; words(run: R): string },
): string[] {
  const now = Date.now();
  const rows = runs.map(run => [
    run.id,
    state(run),
    style.role(runName(run), visibleLine(runName(run))),
    run.engine,
    `${formatDuration(now - run.createdAt)} ago`,
    run.startedAt === null
      ? '–'
      : formatDuration((run.endedAt ?? now) - run.startedAt) + (isEnd(run.status) ? '' : '…'),
    words(run),
  ]);
  return formatTable(
    [
      { title: 'run' },
      { title: 'state' },
      { title: 'role', shrinkTo: 8 },
      { title: 'engine' },
      { title: 'asked', align: 'right' },
      { title: 'took', align: 'right' },
      { title: 'task', shrinkTo: 0 },
    ],
    rows,
    out.columns,
    style,
  );
}

type Board = Output<'list_board'>;

const MAX_PER_PAGE = 200;
const NEED_WORDS: Record<Need, string> = {
  needs_you: 'need you',
  failed: 'failed',
  running: 'at work',
  queued: 'queued',
  done: 'done',
};

/** `squad ls --need`: runs that wait for somebody first, then those that failed, then the rest. */
async function listByAttention(
  { all, running, most }: { all: boolean; running: boolean; most: number },
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const { runs, counts } = await board(client, most, {
    ...(!all && { workspace: workspaceRoot(context.workspace) }),
    ...(running && { status: ['needs_you', 'running', 'queued'] }),
  }).finally(() => client.close());
  if (context.json) printJson(context.out, { runs, counts });
  else if (runs.length === 0)
    print(context, [
      all ? 'No runs yet.' : 'No runs in this workspace yet.',
      'Start one: squad run ROLE "task"   (squad ls --need --all shows every workspace)',
    ]);
  else print(context, [...boardTable(runs, context), '', countsLine(counts, context.style)]);
  return EXIT.done;
}

async function board(
  client: HubClient,
  most: number,
  filter: object,
): Promise<Pick<Board, 'runs' | 'counts'>> {
  const runs: RunCard[] = [];
  let cursor: string | undefined;
  for (;;) {
    const limit = Math.min(MAX_PER_PAGE, most - runs.length);
    const page = await client.call('list_board', { ...filter, cursor, limit });
    runs.push(...page.runs);
    if (page.next === null || runs.length >= most) return { runs, counts: page.counts };
    cursor = page.next;
  }
}

export const boardTable = (runs: RunCard[], context: CliContext): string[] =>
  runTable(runs, context, {
    state: run => stateOf(run, context.style),
    words: ({ asking, need, error, title }) => {
      if (asking) return `${visibleLine(asking.question)} squad answer ${shellWord(asking.id)}`;
      return visibleLine(need === 'needs_you' && error ? error.message : title);
    },
  });

function stateOf(run: RunCard, style: Style): string {
  const { need, quiet, status } = run;
  const limit = limitWord({ ...run, needsYou: need === 'needs_you' }, style);
  if (limit) return limit;
  if (need === 'needs_you') return style.yellow('asks you');
  return quiet ? style.yellow(QUIET_WORDS[quiet.state]) : paintStatus(status, statusText(status), style);
}

function countsLine(counts: Board['counts'], style: Style): string {
  const some = (Object.keys(NEED_WORDS) as Need[]).filter(need => counts[need] > 0);
  return style.dim(some.map(need => `${NEED_WORDS[need]} ${counts[need]}`).join(' · '));
}

interface LsOptions {
  all?: boolean;
  running?: boolean;
  limit?: string;
  need?: boolean;
}

/** `squad ls`: runs of this workspace, newest first. */
export async function lsCommand(
  { all = false, running = false, limit, need }: LsOptions,
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '20', 1, 1000);
  if (need) return listByAttention({ all, running, most }, context);
  const { runs } = await HubClient.ask({ workspace: context.workspace }, 'list_runs', {
    ...(!all && { workspace: workspaceRoot(context.workspace) }),
    ...(running && { status: ['queued', 'running', 'waiting_review'] }),
    limit: most,
  });
  if (context.json) printJson(context.out, { runs });
  else if (runs.length === 0)
    print(context, [
      all ? 'No runs yet.' : 'No runs in this workspace yet.',
      'Start one: squad run ROLE "task"   (squad roles shows the roles; squad ls --all every workspace)',
    ]);
  else
    print(
      context,
      runTable(runs, context, {
        state: run =>
          run.quiet
            ? context.style.yellow(QUIET_WORDS[run.quiet.state])
            : (limitWord(run, context.style) ??
              paintStatus(run.status, statusText(run.status), context.style)),
        words: run =>
          run.needsYou && run.error ? visibleLine(run.error.message) : visibleLine(runSummary(run)),
      }),
    );
  return EXIT.done;
}
