import { type Command, Option } from 'commander';
import type { CommandMaker } from '../command-maker.ts';
import { type ExportOptions, exportConversation } from './conversation-export.ts';
import { type ListOptions, listConversationsCommand } from './conversation-list.ts';
import { printConversation } from './conversation-print.ts';

/** What models were asked and said. */
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
