import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { statusWord } from '../terminal/status-word.ts';
import { formatTable } from '../terminal/table.ts';
import { wholeNumber } from '../whole-number.ts';
import { workspaceRoot } from '../workspace-root.ts';

type Listed = Output<'list_conversations'>;

export interface ListOptions {
  all?: boolean;
  subagent?: string;
  limit?: string;
}

/** `squad conversation list`: what models were asked and said in this workspace, run by run. */
export async function listConversationsCommand(
  { all = false, subagent, limit }: ListOptions,
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '50', 1, 500);
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_conversations', {
    ...(!all && { workspace: workspaceRoot(context.workspace) }),
    subagent,
    limit: most,
  });
  if (context.json) printJson(context.out, listed);
  else if (listed.conversations.length === 0)
    print(context, [
      all
        ? 'No conversation is stored yet.'
        : 'No conversation of this workspace is stored yet; squad conversation list --all has every workspace.',
      context.style.dim(
        'Those of subagents are, and of runs with --engine native; of other runs squad log RUN shows what they wrote.',
      ),
    ]);
  else print(context, table(listed, context));
  return EXIT.done;
}

function table({ conversations, next }: Listed, { out, style }: CliContext): string[] {
  const rows = conversations.map(({ run, subagent, startedAt, messages, status, title }) => [
    run,
    subagent === null ? '–' : visibleLine(subagent),
    formatDateTime(startedAt),
    String(messages),
    statusWord(status),
    visibleLine(title),
  ]);
  return [
    ...formatTable(
      [
        { title: 'RUN' },
        { title: 'SUBAGENT', shrinkTo: 8 },
        { title: 'BEGAN' },
        { title: 'MESSAGES', align: 'right' },
        { title: 'STATUS' },
        { title: 'TASK', shrinkTo: 12 },
      ],
      rows,
      out.columns,
      style,
    ),
    ...(next === null ? [] : [style.dim('There are more: --limit N shows up to 500')]),
  ];
}
