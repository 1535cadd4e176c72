import { type Command, Option } from 'commander';
import { FeedbackType } from '../../schema/review.ts';
import { type CommandMaker, examples, limitOption, milliseconds, wholeNumber } from '../arguments.ts';
import { diffCommand } from '../evidence/diff.ts';
import { answerCommand, type InboxOptions, inboxCommand } from '../inbox/inbox.ts';
import { integrateCommand, overlapCommand } from '../integration/integrate.ts';
import { listWorktrees, pruneWorktrees } from '../worktrees/worktrees.ts';
import { commentCommand, type ReviewOptions, reviewCommand } from './review.ts';

/** Commands for questions of agents and for the results of runs: inbox, work trees, reviews, merges. */
export function addWorkCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'inbox', 'List open questions of agents, nearest deadline first')
    .option('-a, --all', 'Include closed questions')
    .addOption(limitOption('Maximum number of questions', 50, 1000))
    .addHelpText('after', examples('squad inbox', 'squad inbox --all'))
    .action(does((context, options: InboxOptions) => inboxCommand(options, context)));
  command(program, 'answer <item> [answer...]', 'Answer a question of an agent')
    .usage('[options] ITEM [TEXT | CHOICE | NUMBER | yes | no | -]')
    .option('--decline', 'Refuse to answer; for a permission request this means no')
    .addHelpText('after', examples('squad answer ask_9r2m4c yes', 'squad answer ask_9r2m4c --decline'))
    .action(
      does((context, item: string, words: string[], options: object) =>
        answerCommand(item, words, options, context),
      ),
    );
  command(program, 'diff <run>', 'Show what changed in the folder of a run since it started')
    .option('--stat', 'Show only file names and line counts')
    .addHelpText('after', examples('squad diff run_4x8d2k6mfp --stat'))
    .action(does((context, run: string, options: object) => diffCommand(run, options, context)));
  command(program, 'comment <run> <words...>', "Comment on lines of a run's changes; its agent continues")
    .usage('[options] RUN FILE:LINE "TEXT" [FILE:LINE "TEXT" …]')
    .option('-m, --message <text>', 'Text to send before the comments')
    .addHelpText('after', examples('squad comment run_4x8d2k6mfp src/login.ts:12 "Check the password first"'))
    .action(
      does((context, run: string, words: string[], options: object) =>
        commentCommand(run, words, options, context),
      ),
    );
  const worktrees = command(program, 'worktrees', 'List the work trees of runs and what is in them')
    .option('-a, --all', 'Include every repository')
    .option('--disk', 'Show disk usage')
    .action(does((context, options: object) => listWorktrees(options, context)));
  command(
    worktrees,
    'prune [runs...]',
    'Remove work trees that have no unmerged work, or those of the given runs; no work is lost',
  )
    .option('-a, --all', 'Include every repository')
    .option('--dry-run', 'Show what would be removed')
    .option(
      '--save-large',
      'Also remove work trees with more than 256 MiB of uncommitted files, and save the files in .git',
    )
    .addHelpText('after', examples('squad worktrees prune --dry-run'))
    .action(does((context, runs: string[], options: object) => pruneWorktrees(runs, options, context)));
  command(program, 'review [run]', 'List reviews, or show and steer the reviews of one run')
    .option('-a, --all', 'Include every workspace')
    .addOption(limitOption('Maximum number of reviews', 20, 1000))
    .option('--diff', 'Show what changed between the last two rounds of review')
    .option('--allow <n>', 'Allow this many more rounds of review', text =>
      wholeNumber('--allow', text, 1, 1000),
    )
    .option('--feedback <text>', 'Give feedback instead of the reviewer; - reads stdin')
    .addOption(
      new Option('--type <type>', 'Type of the feedback (default: needs_work)').choices(FeedbackType.options),
    )
    .option('--priority <word>', 'Priority of the feedback')
    .option('--cancel', 'Cancel the open review; the coder continues')
    .option('--abandon', 'Give up the task: stop its agents, keep its work')
    .addHelpText(
      'after',
      examples('squad review', 'squad review run_4x8d2k6mfp --feedback "Handle the empty list"'),
    )
    .action(
      does((context, run: string | undefined, options: ReviewOptions) =>
        reviewCommand(run, options, context),
      ),
    );
  command(program, 'overlap', 'Show which work trees changed the same files').action(
    does(context => overlapCommand(context)),
  );
  command(program, 'integrate [ids...]', 'Merge branches of ended runs: show the result, then ask')
    .option('--into <branch>', 'Target branch (default: the branch that the runs started from)')
    .option('--check <command>', 'Command that must pass before merging (default: the configured one)')
    .option('--no-check', 'Skip the configured check')
    .option('--check-timeout <time>', 'Timeout of the check: 90s, 15m, 2h (default: 15m)', text =>
      milliseconds('--check-timeout', text),
    )
    .addOption(
      new Option('--order <order>', 'Merge order: least overlap first, or as given').choices([
        'suggested',
        'given',
      ]),
    )
    .option('--dry-run', 'Show what would be merged, without running the check')
    .option('--remove', 'Remove the work trees of merged branches')
    .option('-y, --yes', 'Do not ask for confirmation')
    .addHelpText(
      'after',
      examples('squad integrate --dry-run', 'squad integrate run_4x8d2k6mfp --check "npm test"'),
    )
    .action(does((context, ids: string[], options: object) => integrateCommand(ids, options, context)));
}
