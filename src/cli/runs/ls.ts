import { visibleLine } from '../../base/visible-text.ts';
import { runSummary } from '../../schema/run.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { QUIET_WORDS } from '../terminal/quiet-word.ts';
import { limitWord, paintStatus, statusWord } from '../terminal/status-word.ts';
import { wholeNumber } from '../whole-number.ts';
import { workspaceRoot } from '../workspace-root.ts';
import { lsByNeed } from './ls-need.ts';
import { runTable } from './run-table.ts';

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
              paintStatus(run.status, statusWord(run.status), context.style)),
        words: run =>
          run.needsYou && run.error ? visibleLine(run.error.message) : visibleLine(runSummary(run)),
      }),
    );
  return EXIT.done;
}
