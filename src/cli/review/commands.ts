import { type Command, Option } from 'commander';
import { FeedbackType } from '../../schema/review.ts';
import type { CommandMaker } from '../arguments.ts';
import { answerCommand, inboxCommand } from '../inbox/inbox.ts';
import { integrateCommand, overlapCommand } from '../integration/integrate.ts';
import { listWorktrees, pruneWorktrees } from '../worktrees/worktrees.ts';
import { reviewCommand } from './review.ts';

/** What runs want to know, and what becomes of their work: the inbox, work trees, reviews, merges. */
export function addWorkCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'inbox', 'what agents ask: open questions, the nearest deadline first')
    .option('-a, --all', 'also what is settled, and how')
    .option('-n, --limit <n>', 'how many', '50')
    .action(does((context, options: object) => inboxCommand(options, context)));
  command(
    program,
    'answer <item> [answer...]',
    'answer an agent: words, a choice or its number, yes or no; - reads stdin',
  )
    .option('--decline', 'tell the agent that you will not answer; a no where it asked for leave')
    .action(
      does((context, item: string, words: string[], options: object) =>
        answerCommand(item, words, options, context),
      ),
    );
  const worktrees = command(
    program,
    'worktrees',
    'work trees of runs: where they are, what is in them, why they are still there',
  )
    .option('-a, --all', 'of every repository')
    .option('--disk', 'how much room each takes')
    .action(does((context, options: object) => listWorktrees(options, context)));
  command(
    worktrees,
    'prune [runs...]',
    'remove those nobody can miss, or those of these runs; no work is lost',
  )
    .option('-a, --all', 'of every repository')
    .option('--dry-run', 'only show what would go')
    .option(
      '--save-large',
      'copy more than 256 MiB of uncommitted files into .git instead of keeping them in place',
    )
    .action(does((context, runs: string[], options: object) => pruneWorktrees(runs, options, context)));
  command(program, 'review [run]', 'reviews here, or all rounds of one task; with an option, decide about it')
    .option('-a, --all', 'of every workspace')
    .option('-n, --limit <n>', 'how many', '20')
    .option('--diff', 'what changed from its round before to its last')
    .option('--allow <n>', 'let it have so many more rounds')
    .option('--feedback <text>', "give the feedback in the reviewer's place; - reads it from stdin")
    .addOption(
      new Option('--type <type>', 'what the feedback says (needs_work)').choices(FeedbackType.options),
    )
    .option('--priority <word>', 'how much it matters')
    .option('--cancel', 'end the review that is under way; the coder goes on')
    .option('--abandon', 'give the task up: its agents are stopped, its work is kept')
    .action(
      does((context, run: string | undefined, options: object) => reviewCommand(run, options, context)),
    );
  command(program, 'overlap', 'which work trees have changed the same files').action(
    does(context => overlapCommand(context)),
  );
  command(program, 'integrate [ids...]', 'merge branches of ended runs: shows what comes of it, then asks')
    .option('--into <branch>', 'this branch, instead of the one they began from')
    .option('--check <command>', 'must agree to the merged result, instead of the configured one')
    .option('--no-check', 'without the configured one')
    .option('--check-timeout <time>', 'how long that may take: 90s, 15m, 2h (15m)')
    .addOption(
      new Option('--order <how>', 'least overlap first, or as named').choices(['suggested', 'given']),
    )
    .option('--dry-run', 'only show what would be merged; the check is not run')
    .option('--remove', 'remove the work trees of what was merged')
    .option('-y, --yes', 'without asking')
    .action(does((context, ids: string[], options: object) => integrateCommand(ids, options, context)));
}
