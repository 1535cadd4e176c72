import { type Command, Option } from 'commander';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CommandMaker, limitOption, workspaceFilter } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { statusText } from '../terminal/status-text.ts';
import { formatTable } from '../terminal/table.ts';
import { type ExportOptions, exportConversation, printConversation } from './conversation.ts';

type Listed = Output<'list_conversations'>;

interface ListOptions {
  all?: boolean;
  subagent?: string;
  limit: number;
}

/** `squad conversation list`: lists stored conversations, newest first. */
async function listConversationsCommand(
  { all, subagent, limit }: ListOptions,
  context: CliContext,
): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_conversations', {
    ...workspaceFilter(all, context),
    subagent,
    limit,
  });
  return printResult(context, listed, () =>
    listed.conversations.length > 0
      ? table(listed, context)
      : [
          all
            ? 'No conversations yet.'
            : withOwnCommand(
                'No conversations in this workspace yet; `squad conversation list --all` lists every workspace.',
              ),
          context.style.dim(
            withOwnCommand(
              'Squad stores conversations of subagents and of runs with --engine native. For other runs, use `squad log RUN`.',
            ),
          ),
        ],
  );
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
        { title: 'run' },
        { title: 'subagent', shrinkTo: 8 },
        { title: 'started' },
        { title: 'messages', align: 'right' },
        { title: 'state' },
        { title: 'task', shrinkTo: 12 },
      ],
      rows,
      out.columns,
      style,
    ),
    ...(next === null ? [] : [style.dim('There are more conversations: --limit N lists up to 500')]),
  ];
}

/** Adds `squad conversation` with its subcommands. */
export function addConversationCommands(program: Command, { command, does }: CommandMaker): void {
  const conversation = program
    .command('conversation')
    .description('Show conversations of subagents and of native runs')
    .exitOverride();
  command(conversation, 'list', 'List conversations, newest first')
    .option('-a, --all', 'Include every workspace')
    .option('--subagent <name>', 'Only conversations of this subagent')
    .addOption(limitOption('Maximum number of conversations', 50, 500))
    .action(does((context, options: ListOptions) => listConversationsCommand(options, context)));
  command(conversation, 'print <run>', 'Print a conversation, by run or label')
    .addOption(
      new Option('--tools <how>', 'How much of tool inputs and results to print')
        .choices(['full', 'short'])
        .default('short'),
    )
    .action(
      does((context, run: string, options: { tools: 'full' | 'short' }) =>
        printConversation(run, options, context),
      ),
    );
  command(conversation, 'export <run>', 'Export a complete conversation for other programs')
    .addOption(
      new Option('--format <format>', 'Output format: JSON lines or Markdown')
        .choices(['jsonl', 'md'])
        .default('jsonl'),
    )
    .option('-o, --output <file>', 'Write to this new file instead of stdout')
    .action(
      does((context, run: string, options: ExportOptions) => exportConversation(run, options, context)),
    );
}
