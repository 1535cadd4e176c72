import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { asSquadError } from '../../schema/error.ts';
import { NETWORK_TEXT, PERMISSION_TEXT, SANDBOX_TEXT } from '../../schema/permission-text.ts';
import { Permission } from '../../schema/run.ts';
import { NetworkAccess, SandboxLevel } from '../../schema/sandbox.ts';
import { type CommandMaker, examples, limitOption, milliseconds, wholeNumber } from '../arguments.ts';
import { reportError } from '../context.ts';
import { costCommand, dollars } from '../cost/cost.ts';
import { exportCommand } from '../output/export.ts';
import { logCommand } from '../output/log.ts';
import { searchCommand } from '../output/search.ts';
import { guideUrl } from '../own-command.ts';
import { type AdoptOptions, adoptCommand } from './adopt.ts';
import { attachCommand, takeOverCommand } from './attach.ts';
import { type EventsOptions, eventsCommand } from './events.ts';
import { cancelCommand, interruptCommand, replyCommand, retryCommand, tellCommand } from './follow-up.ts';
import { type LsOptions, lsCommand } from './ls.ts';
import { overviewCommand } from './overview.ts';
import { runCommand } from './run.ts';
import type { ReportOptions } from './run-reporter.ts';
import { showCommand } from './show.ts';
import { waitCommand } from './wait.ts';
import { watchCommand } from './watch.ts';

/** Commands that start agents, and commands for runs that were started. */
export function addRunCommands(program: Command, { command, does }: CommandMaker): void {
  const timeout = (text: string) => milliseconds('--timeout', text);
  withReportOptions(command(program, 'run <task...>', 'Start agents and watch them until they end'))
    .usage('[options] "TASK" | ROLE "TASK" [ROLE "TASK" …]')
    .option('--cwd <dir>', 'Folder to work in, relative to the workspace')
    .option(
      '--engine <name>',
      'Engine to use: an agent CLI, "native" (a model by API key) or "scripted" (dry run without a model)',
    )
    .option('--model <name>', 'Model to use, by the name that the engine has for it')
    .addOption(
      new Option(
        '--permission <level>',
        `Permission of each agent: ${Object.entries(PERMISSION_TEXT)
          .map(([level, text]) => `${level} (${text})`)
          .join(', ')}; how far each engine enforces it: ${guideUrl('reference/permissions.md')}`,
      ).choices(Permission.options),
    )
    .addOption(
      new Option(
        '--sandbox <level>',
        `Confinement of each agent: ${Object.entries(SANDBOX_TEXT)
          .map(([level, text]) => `${level} (${text})`)
          .join(', ')} (default: workspace in a work tree, off elsewhere)`,
      ).choices(SandboxLevel.options),
    )
    .addOption(
      new Option(
        '--network <access>',
        `Hosts that a sandboxed agent can reach: ${Object.entries(NETWORK_TEXT)
          .map(([access, text]) => `${access} (${text})`)
          .join(', ')}`,
      ).choices(NetworkAccess.options),
    )
    .option('--on <machine>', 'Machine to run on: its name, `label=value`, or local (see squad machines)')
    .option('--worktree', 'Give each agent its own git work tree and branch')
    .option('--no-worktree', 'Work in the folder itself, even if the role asks for a work tree')
    .option('--budget <usd>', 'Stop an agent once it has cost this many US dollars', text =>
      dollars('--budget', text),
    )
    .option('--timeout <time>', 'Stop an agent after this long: 90s, 15m, 2h (a number is seconds)', timeout)
    .option('--chat <id>', 'Continue the chat with this id instead of a new one (needs STATE_MODE=stateful)')
    .option('--name <name>', 'Name of the squad, shown in the web UI')
    .option('-d, --detach', 'Print the run ids and exit')
    .addHelpText(
      'after',
      examples(
        'squad run "Fix the failing test"   the role is coder, if the project has one',
        'squad run coder "Add a login form" qa-engineer "Test the login form"',
        'squad run reviewer - < task.md     reads the task from stdin',
      ),
    )
    .action(does((context, words: string[], options: object) => runCommand(words, options, context)));
  command(program, 'reply <run> <text>', 'Continue the chat of a run that has ended')
    .usage('[options] RUN ("TEXT" | -)')
    .option('-d, --detach', 'Print the run id and exit')
    .addHelpText('after', examples('squad reply run_4x8d2k6mfp "Now add a test"'))
    .action(
      does((context, run: string, text: string, options: object) =>
        replyCommand(run, text, options, context),
      ),
    );
  command(
    program,
    'adopt [chat] [text]',
    'List chats that you began in an agent CLI here, or continue one as a run',
  )
    .usage('[options] [CHAT ("TASK" | -)]')
    .option('-a, --all', 'List also the chats that runs began')
    .addOption(limitOption('Maximum number of chats to list', 20, 1000))
    .option('--fork', 'Leave the chat as it is and continue a fork of it')
    .option('--role <role>', 'Role of the agent')
    .option('--model <name>', 'Model to use, by the name that the engine has for it')
    .addOption(new Option('--permission <level>', 'Permission of the agent').choices(Permission.options))
    .addOption(
      new Option(
        '--sandbox <level>',
        'Confinement of the agent; only off works, because a sandbox hides the chat',
      ).choices(SandboxLevel.options),
    )
    .option('--budget <usd>', 'Stop the agent once it has cost this many US dollars', text =>
      dollars('--budget', text),
    )
    .option('--timeout <time>', 'Stop the agent after this long: 90s, 15m, 2h (a number is seconds)', timeout)
    .option('-d, --detach', 'Print the run id and exit')
    .addHelpText(
      'after',
      examples('squad adopt   lists the chats of this folder', 'squad adopt 3f0e6a52 "Now write the tests"'),
    )
    .action(
      does((context, chat: string | undefined, text: string | undefined, options: AdoptOptions) =>
        adoptCommand(chat, text, options, context),
      ),
    );
  command(program, 'tell <run> <text>', 'Send a message to a running agent')
    .usage('[options] RUN ("TEXT" | -)')
    .option('--interrupt', 'Interrupt the current work of the agent first')
    .addHelpText(
      'after',
      examples(
        'squad tell run_4x8d2k6mfp "Use the existing parser"',
        'squad tell run_4x8d2k6mfp --interrupt "Stop: the API has changed, read its changelog first"',
      ),
    )
    .action(
      does((context, run: string, text: string, options: object) => tellCommand(run, text, options, context)),
    );
  command(program, 'interrupt <run>', 'Ask an agent to end its turn, so that its chat can be continued')
    .addHelpText('after', examples('squad interrupt run_4x8d2k6mfp'))
    .action(does((context, run: string) => interruptCommand(run, context)));
  command(program, 'retry <id>', 'Repeat a run, or the runs of a squad that did not complete')
    .option('--engine <name>', 'Use another engine')
    .option('--model <name>', 'Use another model')
    .option('--timeout <time>', 'Use another time limit: 90s, 15m, 2h', timeout)
    .option('-d, --detach', 'Print the run ids and exit')
    .addHelpText('after', examples('squad retry run_4x8d2k6mfp --engine codex'))
    .action(does((context, id: string, options: object) => retryCommand(id, options, context)));
  command(program, 'cancel [ids...]', 'Stop runs or squads and everything they started')
    .alias('stop')
    .option('--all', 'Stop every run of this workspace')
    .option('--everywhere', 'With --all: stop the runs of every workspace')
    .addHelpText('after', examples('squad cancel run_4x8d2k6mfp', 'squad cancel --all'))
    .action(does((context, ids: string[], options: object) => cancelCommand(ids, options, context)));
}

/** Commands that show runs and wait for them. */
export function addWatchCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'status', 'Show what is running and what needs you, like `squad` alone').action(
    does(context => overviewCommand(context)),
  );
  command(program, 'ls', 'List runs, newest first')
    .aliases(['ps', 'list'])
    .option('-a, --all', 'Include every workspace')
    .option('-r, --running', 'Only runs that have not ended')
    .option('--need', 'Sort by what needs your attention: questions, failures, then the rest')
    .addOption(limitOption('Maximum number of runs', 20, 1000))
    .addHelpText(
      'after',
      examples('squad ls --need   what needs you first', 'squad ls --all --running --json'),
    )
    .action(does((context, options: LsOptions) => lsCommand(options, context)));
  withReportOptions(
    command(program, 'watch [ids...]', 'Follow the runs of this workspace, or the runs given'),
  )
    .option('-a, --all', 'Include every workspace')
    .addHelpText('after', examples('squad watch', 'squad watch --all --quiet'))
    .action(does((context, ids: string[], options: ReportOptions) => watchCommand(ids, options, context)));
  command(program, 'show <run>', 'Show everything about one run')
    .addHelpText('after', examples('squad show run_4x8d2k6mfp'))
    .action(does((context, run: string) => showCommand(run, context)));
  command(program, 'log <run>', 'Print what an agent wrote')
    .alias('logs')
    .option('-f, --follow', 'Follow the output until the run ends')
    .option('--raw', 'Print the raw output, unchanged')
    .addOption(new Option('--window').hideHelp())
    .addHelpText('after', examples('squad log -f run_4x8d2k6mfp'))
    .action(does((context, run: string, options: object) => logCommand(run, options, context)));
  command(program, 'attach <run>', 'Watch a running agent in tmux, or follow its log')
    .option('--take-over', "Stop the run and open the agent's own interactive mode on the same chat")
    .option('-y, --yes', 'Do not ask for confirmation')
    .addOption(new Option('--window').hideHelp())
    .addHelpText('after', examples('squad attach run_4x8d2k6mfp', 'squad attach --take-over run_4x8d2k6mfp'))
    .action(
      does((context, run: string, options: { takeOver?: boolean; yes?: boolean; window?: boolean }) =>
        holdWindowOpen(options.window === true, () =>
          options.takeOver ? takeOverCommand(run, options, context) : attachCommand(run, context),
        ),
      ),
    );
  command(program, 'wait <ids...>', 'Wait for runs or squads to end, and exit with their result')
    .option('--any', 'Return as soon as one of the runs ends')
    .option(
      '--timeout <time>',
      'Give up after this long (90s, 15m, 2h) with exit code 124; the runs continue',
      text => milliseconds('--timeout', text),
    )
    .addHelpText('after', examples('squad wait squad_7esxdrsab7 --timeout 15m'))
    .action(does((context, ids: string[], options: object) => waitCommand(ids, options, context)));
  command(program, 'search <words...>', 'Search runs, decisions and the output of recent runs')
    .option('-a, --all', 'Include every workspace')
    .addOption(limitOption('Maximum number of results of each kind', 20, 100))
    .addHelpText('after', examples('squad search "connection refused"'))
    .action(
      does((context, words: string[], options: { all?: boolean; limit: number }) =>
        searchCommand(words, options, context),
      ),
    );
  command(program, 'events', 'Show recent events of this workspace and the hub, newest last')
    .option('--run <run>', 'Only events of this run')
    .option('-a, --all', 'Include every workspace')
    .option('-f, --follow', 'Keep printing new events until the run ends or Ctrl-C')
    .addOption(limitOption('Maximum number of events', 50, 1000))
    .addHelpText('after', examples('squad events -f --json'))
    .action(does((context, options: EventsOptions) => eventsCommand(options, context)));
  command(program, 'cost', 'Show cost by day, by role or subagent, and by squad')
    .option('--days <n>', 'Number of days, including today', text => wholeNumber('--days', text, 1, 366), 14)
    .option('--here', 'Only this workspace')
    .action(does((context, options: { days: number; here?: boolean }) => costCommand(options, context)));
  command(program, 'export <run> [file]', 'Save a run as one HTML file that needs no hub')
    .usage('[options] RUN [FILE | -]')
    .option('--force', 'Overwrite an existing file')
    .action(
      does((context, run: string, file: string | undefined, options: object) =>
        exportCommand(run, file, options, context),
      ),
    );
}

/** Options that select which events of runs are printed, and when. */
const withReportOptions = (command: Command): Command =>
  command
    .option('--only <role>', 'Show only runs with this role (repeatable)', (role, roles: string[] = []) => [
      ...roles,
      role,
    ])
    .option('--quiet', 'Show only questions, failures and the summary')
    .option('--group', "Print each run's lines together when it ends, for CI logs");

/** A window that was opened for one command closes with it: wait for Enter so that its output can be read. */
async function holdWindowOpen(isWindow: boolean, work: () => Promise<number>): Promise<number> {
  if (!isWindow) return work();
  const code = await work().catch(thrown => reportError(asSquadError(thrown), false));
  if (!process.stdin.isTTY) return code;
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<void>(resolve => prompt.once('close', resolve));
  await Promise.race([prompt.question('Press Enter to close this window. '), closed]).finally(() =>
    prompt.close(),
  );
  return code;
}
