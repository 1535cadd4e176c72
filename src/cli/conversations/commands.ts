import { type Command, Option } from 'commander';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CommandMaker, wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { statusText } from '../terminal/status-text.ts';
import { formatTable } from '../terminal/table.ts';
import { type ExportOptions, exportConversation } from './export.ts';
import { printConversation } from './print.ts';

type Listed = Output<'list_conversations'>;

interface ListOptions {
  all?: boolean;
  subagent?: string;
  limit?: string;
}

/** `squad conversation list`: what models were asked and said in this workspace, run by run. */
async function listConversationsCommand(
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
    statusText(status),
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

/** Adds `squad conversation` with its subcommands. */
export function addConversationCommands(program: Command, { command, does }: CommandMaker): void {
  const conversation = program
    .command('conversation')
    .description("what was said in runs of Squad's own agent: subagents, and --engine native")
    .exitOverride();
  command(conversation, 'list', 'conversations of this workspace, newest first')
    .option('-a, --all', 'of every workspace')
    .option('--subagent <name>', 'only of this subagent')
    .option('-n, --limit <n>', 'how many', '50')
    .action(does((context, options: ListOptions) => listConversationsCommand(options, context)));
  command(conversation, 'print <run>', 'one of them, to read; a run or a label')
    .addOption(
      new Option('--tools <how>', 'how much of what tools were given and gave back')
        .choices(['full', 'short'])
        .default('short'),
    )
    .action(
      does((context, run: string, options: { tools: 'full' | 'short' }) =>
        printConversation(run, options, context),
      ),
    );
  command(conversation, 'export <run>', 'one of them, whole, for other programs')
    .addOption(
      new Option('--format <format>', 'messages as JSON lines, or a document')
        .choices(['jsonl', 'md'])
        .default('jsonl'),
    )
    .option('-o, --output <file>', 'into this file, which must not be there yet')
    .action(
      does((context, run: string, options: ExportOptions) => exportConversation(run, options, context)),
    );
}
