import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { asSquadError } from '../../schema/error.ts';
import type { CommandMaker } from '../arguments.ts';
import { costCommand } from '../cost/cost.ts';
import { diffCommand } from '../evidence/diff.ts';
import { reportError } from '../exit-codes.ts';
import { exportCommand } from '../output/export.ts';
import { logCommand } from '../output/log.ts';
import { searchCommand } from '../output/search.ts';
import { commentCommand } from '../review/review.ts';
import { attachCommand, takeOverCommand } from './attach.ts';
import { eventsCommand } from './events.ts';
import { cancelCommand, replyCommand, retryCommand } from './follow-up.ts';
import { lsCommand } from './ls.ts';
import { runCommand } from './run.ts';
import type { TellOptions } from './run-reporter.ts';
import { showCommand } from './show.ts';
import { waitCommand } from './wait.ts';
import { watchCommand } from './watch.ts';

/** A window that was opened for one command is gone with it: its last words stay until they are read. */
async function holdWindowOpen(isWindow: boolean, work: () => Promise<number>): Promise<number> {
  if (!isWindow) return work();
  const code = await work().catch(thrown => reportError(asSquadError(thrown), false));
  if (!process.stdin.isTTY) return code;
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<void>(resolve => asking.once('close', resolve));
  await Promise.race([asking.question('Enter closes this window. '), closed]).finally(() => asking.close());
  return code;
}

/** Starting agents, watching them, and what can be done with a run. */
export function addRunCommands(program: Command, { command, does }: CommandMaker): void {
  told(
    command(program, 'run <words...>', 'start agents and watch them: squad run ROLE "task" [ROLE "task" …]'),
  )
    .usage('[options] ROLE "task" [ROLE "task" …]')
    .option('--cwd <dir>', 'folder to work in, relative to the workspace')
    .option(
      '--engine <name>',
      'engine to use; "native" asks a model with an API key, "scripted" is a dry run without one',
    )
    .option('--model <name>', 'model to use, as the engine calls it')
    .addOption(new Option('--permission <level>', 'what each agent may do').choices(['read', 'edit', 'full']))
    .option('--worktree', 'give each agent a git work tree and a branch of its own')
    .option('--no-worktree', 'work in the folder itself, whatever the role says')
    .option('--budget <usd>', 'stop each agent that has cost this many US dollars')
    .option('--timeout <time>', 'end each agent after this long: 90s, 15m, 2h; a bare number is seconds')
    .option('--chat <id>', 'go on with this chat (stateful)')
    .option('-d, --detach', 'print the run ids and leave')
    .action(does((context, words: string[], options: object) => runCommand(words, options, context)));
  told(
    command(program, 'watch [ids...]', 'what happens to runs from now on, of this workspace or those named'),
  )
    .option('-a, --all', 'of every workspace')
    .action(does((context, ids: string[], options: TellOptions) => watchCommand(ids, options, context)));
  command(program, 'ls', 'runs of this workspace, newest first')
    .option('-a, --all', 'of every workspace')
    .option('-r, --running', 'only those that have not ended')
    .option('--need', 'those that wait for you first, then failed ones, then the rest')
    .option('-n, --limit <n>', 'how many', '20')
    .action(does((context, options: object) => lsCommand(options, context)));
  command(program, 'search <words...>', 'runs, decisions and output of the newest runs with these words')
    .option('-a, --all', 'runs of every workspace')
    .option('-n, --limit <n>', 'how many of each', '20')
    .action(does((context, words: string[], options: object) => searchCommand(words, options, context)));
  command(program, 'events', 'what happened, the newest last')
    .option('--run <run>', 'only of this run')
    .option('-f, --follow', 'and what happens next, until the run ends or Ctrl-C')
    .option('-n, --limit <n>', 'how many', '50')
    .action(does((context, options: object) => eventsCommand(options, context)));
  command(program, 'cost', 'what runs have cost, by day, by role or subagent, and by squad')
    .option('--days <n>', 'of so many days, today included', '14')
    .option('--here', 'of this workspace alone')
    .action(does((context, options: object) => costCommand(options, context)));
  command(program, 'show <run>', 'all that is known of one run').action(
    does((context, run: string) => showCommand(run, context)),
  );
  command(program, 'log <run>', 'what an agent wrote')
    .option('-f, --follow', 'until it ends')
    .option('--raw', 'the bytes as they were written')
    .addOption(new Option('--window').hideHelp())
    .action(does((context, run: string, options: object) => logCommand(run, options, context)));
  command(program, 'attach <run>', 'look at a run at work, in its tmux session; without tmux, at its log')
    .option('--take-over', "end the run and open its agent's own interactive mode on the chat")
    .option('-y, --yes', 'without asking')
    .addOption(new Option('--window').hideHelp())
    .action(
      does((context, run: string, options: { takeOver?: boolean; yes?: boolean; window?: boolean }) =>
        holdWindowOpen(options.window === true, () =>
          options.takeOver ? takeOverCommand(run, options, context) : attachCommand(run, context),
        ),
      ),
    );
  command(program, 'wait <ids...>', 'wait for runs or squads to end; the exit code says how they did')
    .option('--any', 'until the first of them has ended')
    .option('--timeout <time>', 'at most this long (90s, 15m, 2h), then exit code 124; they go on')
    .action(does((context, ids: string[], options: object) => waitCommand(ids, options, context)));
  command(
    program,
    'reply <run> <text>',
    'go on with the chat of a run that has ended; - reads the text from stdin',
  )
    .usage('[options] RUN "text"')
    .option('-d, --detach', 'print the run id and leave')
    .action(
      does((context, run: string, text: string, options: object) =>
        replyCommand(run, text, options, context),
      ),
    );
  command(program, 'retry <id>', 'the same request once more; of a squad, those that did not complete')
    .option('--engine <name>', 'another engine')
    .option('--model <name>', 'another model')
    .option('--timeout <time>', 'another time limit: 90s, 15m, 2h')
    .option('-d, --detach', 'print the run ids and leave')
    .action(does((context, id: string, options: object) => retryCommand(id, options, context)));
  command(program, 'diff <run>', 'what is different in its folder from before the run')
    .option('--stat', 'only the files, and how many lines')
    .action(does((context, run: string, options: object) => diffCommand(run, options, context)));
  command(program, 'comment <run> <words...>', 'comment on lines of its changes; the agent goes on with them')
    .usage('[options] RUN FILE:LINE "words" [FILE:LINE "words" …]')
    .option('-m, --message <text>', 'said before the comments')
    .action(
      does((context, run: string, words: string[], options: object) =>
        commentCommand(run, words, options, context),
      ),
    );
  command(
    program,
    'export <run> [file]',
    'save a run as one HTML file that needs no hub; - is standard output',
  )
    .option('--force', 'write over a file that is there')
    .action(
      does((context, run: string, file: string | undefined, options: object) =>
        exportCommand(run, file, options, context),
      ),
    );
  command(program, 'cancel [ids...]', 'stop runs or squads, and everything they started')
    .option('--all', 'every run of this workspace')
    .option('--everywhere', 'with --all: the runs of every workspace')
    .action(does((context, ids: string[], options: object) => cancelCommand(ids, options, context)));
}

/** How much of what happens is shown, and when. */
const told = (command: Command): Command =>
  command
    .option('--only <role>', 'only runs with this role; may be given again', (role, roles: string[] = []) => [
      ...roles,
      role,
    ])
    .option('--quiet', 'only who needs you, failures and the summary')
    .option('--group', "a run's lines together when it ends, for CI");
