import { Command, CommanderError, Option } from 'commander';
import { version } from '../link/program.ts';
import { asSquadError, exitCodeOf, SquadError } from '../schema/error.ts';
import { FeedbackType } from '../schema/review.ts';
import { attachCommand } from './commands/attach.ts';
import { showAudit, verifyAudit } from './commands/audit.ts';
import { backlogCommand } from './commands/backlog.ts';
import { cancelCommand } from './commands/cancel.ts';
import { setConfig, showConfig } from './commands/config.ts';
import { contextCommand } from './commands/context.ts';
import { decisionsCommand } from './commands/decisions.ts';
import { demoCommand } from './commands/demo.ts';
import { diffCommand } from './commands/diff.ts';
import { doctorCommand } from './commands/doctor.ts';
import { hubLog, hubStart, hubStatus, hubStop } from './commands/hub.ts';
import { initCommand } from './commands/init.ts';
import { installCommand } from './commands/install.ts';
import { integrateCommand } from './commands/integrate.ts';
import { logCommand } from './commands/log.ts';
import { lsCommand } from './commands/ls.ts';
import { mcpAdd } from './commands/mcp-add.ts';
import { mcpApprove } from './commands/mcp-approve.ts';
import { mcpImport } from './commands/mcp-import.ts';
import { mcpLint } from './commands/mcp-lint.ts';
import { mcpRemove } from './commands/mcp-remove.ts';
import { mcpStatus } from './commands/mcp-status.ts';
import { mcpTools } from './commands/mcp-tools.ts';
import { overlapCommand } from './commands/overlap.ts';
import { pruneCommand } from './commands/prune.ts';
import { replyCommand } from './commands/reply.ts';
import { retryCommand } from './commands/retry.ts';
import { reviewCommand } from './commands/review.ts';
import { rolesCommand } from './commands/roles.ts';
import { runCommand } from './commands/run.ts';
import { showCommand } from './commands/show.ts';
import { takeOverCommand } from './commands/take-over.ts';
import { teamCommand } from './commands/team.ts';
import { trustCommand } from './commands/trust.ts';
import { waitCommand } from './commands/wait.ts';
import { listWorktrees, pruneWorktrees } from './commands/worktrees.ts';
import { type CliContext, openContext } from './context.ts';
import { EXIT } from './exit-codes.ts';
import { printJson } from './output/json.ts';
import { oneLine } from './output/sanitize.ts';
import { createStyle } from './output/style.ts';
import { wrap } from './output/wrap.ts';

const EXIT_CODES = `
Exit codes: 0 done · 1 a run did not complete, or the machine refused · 2 wrong use · 3 needs an answer · 4 a limit · 124 not over in time (squad wait) · 130 interrupted
Every command but mcp alone takes --json. Guides and reference: README.md and docs/.`;

/** The whole command line. Returns the exit code; never throws. */
export async function main(argv: string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = new Command('squad')
    .description('Run a team of role-specialised coding agents.')
    .version(version, '-V, --version')
    .addHelpText('after', EXIT_CODES)
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    // What it would say is said below, in the form of every other error.
    .configureOutput({ outputError: () => {} })
    .exitOverride();

  /** A command with the options all of them share. */
  const command = (parent: Command, name: string, description: string) =>
    parent
      .command(name)
      .description(description)
      .addOption(new Option('--json', 'machine-readable output'))
      .addOption(new Option('--workspace <dir>', 'work in this folder instead of the current one'))
      .exitOverride();
  /** Runs the command's work with its context and keeps its exit code. */
  const does = (work: (context: CliContext, ...words: never[]) => Promise<number>) =>
    async function act(this: Command, ...given: unknown[]) {
      const options = this.opts();
      code = await work(openContext(options), ...(given.slice(0, -1) as never[]));
    };

  command(program, 'run <words...>', 'start agents and watch them: squad run ROLE "task" [ROLE "task" …]')
    .usage('[options] ROLE "task" [ROLE "task" …]')
    .option('--cwd <dir>', 'folder to work in, relative to the workspace')
    .option('--engine <name>', 'engine to use; "scripted" is a dry run without a model')
    .option('--model <name>', 'model to use, as the engine calls it')
    .addOption(new Option('--permission <level>', 'what each agent may do').choices(['read', 'edit', 'full']))
    .option('--worktree', 'give each agent a git work tree and a branch of its own')
    .option('--budget <usd>', 'stop each agent that has cost this many US dollars')
    .option('--timeout <time>', 'end each agent after this long: 90s, 15m, 2h; a bare number is seconds')
    .option('--chat <id>', 'go on with this chat (stateful)')
    .option('-d, --detach', 'print the run ids and leave')
    .action(does((context, words: string[], options: object) => runCommand(words, options, context)));
  command(program, 'ls', 'runs of this workspace, newest first')
    .option('-a, --all', 'of every workspace')
    .option('-r, --running', 'only those that have not ended')
    .option('-n, --limit <n>', 'how many', '20')
    .action(does((context, options: object) => lsCommand(options, context)));
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
    .action(
      does((context, run: string, options: { takeOver?: boolean; yes?: boolean }) =>
        options.takeOver ? takeOverCommand(run, options, context) : attachCommand(run, context),
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
  command(program, 'review [run]', 'reviews here, or all rounds of one task; with an option, decide about it')
    .option('-a, --all', 'of every workspace')
    .option('-n, --limit <n>', 'how many', '20')
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
  command(program, 'cancel [ids...]', 'stop runs or squads, and everything they started')
    .option('--all', 'every run')
    .action(does((context, ids: string[], options: object) => cancelCommand(ids, options, context)));
  command(program, 'roles', 'the roles here, and what is wrong with any of them').action(
    does(context => rolesCommand(context)),
  );
  command(program, 'context [role]', 'what an agent would be told of this project, and its size')
    .option('--engine <name>', 'for this engine: some read files by themselves')
    .option('--files <list>', 'these files instead, separated by commas')
    .option('--text', 'only the text, as it would be sent')
    .action(
      does((context, role: string | undefined, options: object) => contextCommand(role, options, context)),
    );
  command(program, 'team', 'who is on the team, and who is at work').action(
    does(context => teamCommand(context)),
  );
  command(program, 'decisions [id]', 'what the team has decided, newest first; or one decision, whole')
    .option('-s, --search <words>', 'those about these words, best first')
    .option('-n, --limit <n>', 'how many', '20')
    .action(
      does((context, id: string | undefined, options: object) => decisionsCommand(id, options, context)),
    );
  command(program, 'backlog', 'what is to be done, by .squad/backlog.md').action(
    does(context => backlogCommand(context)),
  );
  command(program, 'init', 'lay down the shipped roles, a config and team files to edit').action(
    does(context => initCommand(context)),
  );
  command(program, 'trust [files...]', 'let config and templates that came with a repository take effect')
    .option('-y, --yes', 'without asking')
    .option('--remove', 'take trust back')
    .action(does((context, files: string[], options: object) => trustCommand(files, options, context)));
  command(program, 'doctor', 'check everything a run depends on').action(
    does(context => doctorCommand(context)),
  );
  command(program, 'prune', 'remove runs that ended long ago, with their output')
    .option('--days <n>', 'ended more than this many days ago')
    .option('--dry-run', 'only count them')
    .action(does((context, options: object) => pruneCommand(options, context)));
  const worktrees = command(
    program,
    'worktrees',
    'work trees of runs: where they are, what is in them, why they are still there',
  )
    .option('-a, --all', 'of every workspace')
    .option('--disk', 'how much room each takes')
    .action(does((context, options: object) => listWorktrees(options, context)));
  command(
    worktrees,
    'prune [runs...]',
    'remove those nobody can miss, or those of these runs; no work is lost',
  )
    .option('-a, --all', 'of every workspace')
    .option('--dry-run', 'only show what would go')
    .action(does((context, runs: string[], options: object) => pruneWorktrees(runs, options, context)));
  command(
    program,
    'install <client>',
    'put Squad into an MCP client: claude-code, cursor, vscode, codex, gemini, copilot, opencode',
  )
    .option('--project', "write the workspace's file instead of the user's")
    .option('--undo', 'take the last install back')
    .option('--dry-run', 'only show the change')
    .option('-y, --yes', 'without asking')
    .action(does((context, client: string, options: object) => installCommand(client, options, context)));
  command(program, 'demo', 'see a squad at work on a throw-away repository; scripted, no key needed').action(
    does(context => demoCommand(context)),
  );

  const config = program.command('config').description('what is set, and where it came from').exitOverride();
  command(config, 'show', 'every value in force and its origin').action(does(context => showConfig(context)));
  command(config, 'set <key> <value>', 'change one of the limits').action(
    does((context, key: string, value: string) => setConfig(key, value, context)),
  );
  command(config, 'unset <key>', 'back to the default').action(
    does((context, key: string) => setConfig(key, null, context)),
  );

  const audit = command(program, 'audit', 'what agents asked of other servers, the newest last')
    .option('--run <run>', 'only of this run')
    .option('--denied', 'only what they did not get')
    .option('-n, --limit <n>', 'how many', '50')
    .action(does((context, options: object) => showAudit(options, context)));
  command(audit, 'verify', 'whether the audit log is what was written').action(
    does(context => verifyAudit(context)),
  );

  const hub = program
    .command('hub')
    .description('the process in the background that owns the runs')
    .exitOverride();
  command(hub, 'start', 'start it if it is not there').action(does(context => hubStart(context)));
  command(hub, 'stop', 'stop it; agents go on, and the next command finds them')
    .option('--force', 'kill it if it does not end by itself')
    .action(does((context, options: object) => hubStop(options, context)));
  command(hub, 'status', 'what it is doing').action(does(context => hubStatus(context)));
  command(hub, 'log', 'the end of its log')
    .option('-n, --lines <n>', 'how many lines', '50')
    .action(does((context, options: object) => hubLog(options, context)));
  // Alone it is the relay, which `bin/squad.cjs` starts without loading any of this.
  const mcp = program
    .command('mcp')
    .description(
      'the MCP server that clients start (see `squad install`); with a word: other servers for agents',
    )
    .exitOverride();
  command(mcp, 'add <name> [command...]', 'give agents another MCP server: squad mcp add NAME -- COMMAND')
    .usage('[options] NAME (--url URL | -- COMMAND [ARGUMENTS])')
    .option('--role <id>', 'this role has it; more than once for more', collected)
    .option('--shared', 'every run has it')
    .option('--tools <list>', 'only these of its tools, by its own names, with commas between them')
    .option('--env <pair>', `NAME=VALUE for the command; '\${NAME}' in a value is a variable`, collected)
    .option('--url <url>', 'where the server is, instead of a command')
    .option('--sse', 'the URL speaks the older SSE transport')
    .option('--header <pair>', 'NAME=VALUE for the URL', collected)
    .option('--force', 'replace a server of that name')
    .action(
      does((context, name: string, words: string[], options: object) =>
        mcpAdd(name, words, options, context),
      ),
    );
  command(
    mcp,
    'remove <name>',
    'take a server out of .squad/mcp-config.json, with whatever refers to it',
  ).action(does((context, name: string) => mcpRemove(name, context)));
  command(mcp, 'import [file]', 'take over the servers of .mcp.json, .cursor/mcp.json, .vscode/mcp.json')
    .option('--role <id>', 'this role has them; more than once for more', collected)
    .option('--shared', 'every run has them')
    .option('-y, --yes', 'without asking')
    .action(does((context, file: string | undefined, options: object) => mcpImport(file, options, context)));
  command(mcp, 'lint [file]', 'what is wrong with .squad/mcp-config.json, and where').action(
    does((context, file: string | undefined) => mcpLint(file, context)),
  );
  command(mcp, 'status', 'how the other servers are doing').action(does(context => mcpStatus(context)));
  command(mcp, 'tools', 'what a role sees of other servers, and why not the rest')
    .option('--role <id>', 'this role; otherwise a run without one')
    .action(does((context, options: object) => mcpTools(options, context)));
  command(mcp, 'approve [what]', 'let tools take effect that came or changed later: SERVER or SERVER/TOOL')
    .option('-y, --yes', 'without asking')
    .action(does((context, what: string | undefined, options: object) => mcpApprove(what, options, context)));

  try {
    await program.parseAsync(argv);
    return code;
  } catch (thrown) {
    const json = argv.includes('--json');
    if (!(thrown instanceof CommanderError)) return report(asSquadError(thrown), json);
    if (thrown.exitCode === 0) return EXIT.done;
    // It has shown its help instead.
    if (thrown.code === 'commander.help' && !json) return EXIT.usage;
    return report(wrongUse(thrown, program, argv.slice(2)), json);
  }
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];

function wrongUse({ message }: CommanderError, program: Command, words: string[]): SquadError {
  const [first, second] = words;
  const command = program.commands.find(each => each.name() === first);
  const inner = command?.commands.find(each => each.name() === second);
  const help = inner ? `${first} help ${second}` : command ? `help ${first}` : 'help';
  // Its own second line guesses what was meant.
  const [what = '', ...guess] = message.replace(/^error: /, '').split('\n');
  return new SquadError('INVALID_INPUT', what, {
    suggestions: [
      ...guess.map(line => line.replace(/^\((.*)\)$/, '$1')),
      ...(command && command.commands.length > 0 && !inner
        ? [`squad ${first} knows: ${command.commands.map(each => each.name()).join(', ')}`]
        : []),
      `squad ${help}   says what it takes`,
    ],
  });
}

/** To people on standard error; to programs as JSON on standard output, where they look. */
function report(error: SquadError, json: boolean): number {
  const context = openContext({ json });
  const style = createStyle(context.err.color);
  if (json) printJson(context.out, { error: error.toShape() });
  else {
    const { columns } = context.err;
    const head = `${style.red('squad:')} ${oneLine(error.message)} ${style.dim(`(${error.code})`)}`;
    const next = error.suggestions.flatMap(line => wrap(line, columns - 2)).map(line => `  ${line}`);
    context.err.write(`${[...wrap(head, columns), ...next].join('\n')}\n`);
  }
  return exitCodeOf(error.code);
}
