import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import type { Need, RunCard } from '../../schema/run-card.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { QUIET_WORDS } from '../terminal/quiet-word.ts';
import { limitWord, paintStatus, statusWord } from '../terminal/status-word.ts';
import type { Style } from '../terminal/style.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { runTable } from './run-table.ts';

type Board = Output<'list_board'>;

const MOST_A_PAGE = 200;
const NEED_WORDS: Record<Need, string> = {
  needs_you: 'need you',
  failed: 'failed',
  running: 'at work',
  queued: 'queued',
  done: 'done',
};

/** `squad ls --need`: runs that wait for somebody first, then those that failed, then the rest. */
export async function lsByNeed(
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
    const limit = Math.min(MOST_A_PAGE, most - runs.length);
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
  return quiet ? style.yellow(QUIET_WORDS[quiet.state]) : paintStatus(status, statusWord(status), style);
}

function countsLine(counts: Board['counts'], style: Style): string {
  const some = (Object.keys(NEED_WORDS) as Need[]).filter(need => counts[need] > 0);
  return style.dim(some.map(need => `${NEED_WORDS[need]} ${counts[need]}`).join(' · '));
}
