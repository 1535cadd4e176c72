import type { z } from 'zod';
import type { listRuns } from '../../operations/list-runs.ts';
import { isEnd, runName, runSummary } from '../../schema/run.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDuration } from '../output/duration.ts';
import { printJson } from '../output/json.ts';
import { QUIET_WORDS } from '../output/quiet-word.ts';
import { oneLine } from '../output/sanitize.ts';
import { paintStatus, statusWord } from '../output/status-word.ts';
import { formatTable } from '../output/table.ts';
import { wholeNumber } from '../whole-number.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { lsByNeed } from './ls-need.ts';

type ListedRun = z.output<typeof listRuns.output>['runs'][number];

export interface LsOptions {
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
  if (need) return lsByNeed({ all, running, most }, context);
  const client = await HubClient.start({ workspace: context.workspace });
  const { runs } = await client
    .call<{ runs: ListedRun[] }>('list_runs', {
      ...(!all && { workspace: workspaceRoot(context.workspace) }),
      ...(running && { status: ['queued', 'running', 'waiting_review'] }),
      limit: most,
    })
    .finally(() => client.close());
  if (context.json) printJson(context.out, { runs });
  else if (runs.length === 0)
    print(context, [
      all ? 'No runs yet.' : 'No runs in this workspace yet.',
      'Start one: squad run ROLE "task"   (squad roles shows the roles; squad ls --all every workspace)',
    ]);
  else print(context, table(runs, context));
  return EXIT.done;
}

function table(runs: ListedRun[], { out, style }: CliContext): string[] {
  const now = Date.now();
  const rows = runs.map(run => [
    run.id,
    run.quiet
      ? style.yellow(QUIET_WORDS[run.quiet.state])
      : paintStatus(run.status, statusWord(run.status), style),
    style.role(runName(run), oneLine(runName(run))),
    run.engine,
    ago(now - run.createdAt),
    run.startedAt === null
      ? '–'
      : formatDuration((run.endedAt ?? now) - run.startedAt) + (isEnd(run.status) ? '' : '…'),
    oneLine(runSummary(run)),
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

const ago = (ms: number) => `${formatDuration(ms)} ago`;
