import type { Command } from 'commander';
import type { CommandMaker } from '../arguments.ts';
import { pruneCommand } from '../hub/prune.ts';
import { contextCommand, rolesCommand } from '../roles/roles.ts';
import { demoCommand } from '../setup/demo.ts';
import { doctorCommand } from '../setup/doctor.ts';
import { type InitOptions, initAny } from '../setup/init.ts';
import { installCommand } from '../setup/install.ts';
import { lintConfig } from '../subagents/lint.ts';
import { backlogCommand, editBacklogCommand, itemNumber, type MoveOptions, moveOf } from '../team/backlog.ts';
import { decisionsCommand, teamCommand } from '../team/team.ts';
import { setConfig, showConfig } from './config.ts';
import { trustCommand } from './trust.ts';

/** What a project and a user set up, and what the team knows. */
export function addProjectCommands(program: Command, { command, does }: CommandMaker): void {
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
  command(program, 'decisions [decision]', 'what the team has decided, newest first; or one decision, whole')
    .option('-s, --search <words>', 'those about these words, best first')
    .option('-n, --limit <n>', 'how many', '20')
    .action(
      does((context, id: string | undefined, options: object) => decisionsCommand(id, options, context)),
    );
  const backlog = command(program, 'backlog', 'what is to be done, by .squad/backlog.md').action(
    does(context => backlogCommand(context)),
  );
  command(backlog, 'add <title>', 'an item more')
    .option('--owner <name>', 'whose it is')
    .option('--under <heading>', 'below this heading; otherwise the first with something open')
    .action(
      does((context, title: string, { owner, under }: { owner?: string; under?: string }) =>
        editBacklogCommand({ action: 'add', title, owner, under }, context),
      ),
    );
  for (const [action, what] of [
    ['done', 'mark an item as done'],
    ['reopen', 'mark it as open again'],
  ] as const)
    command(backlog, `${action} <n>`, what).action(
      does((context, n: string) => editBacklogCommand({ action, number: itemNumber('N', n) }, context)),
    );
  command(backlog, 'move <n>', 'change the order')
    .option('--before <m>', 'before item M')
    .option('--up', 'before the one above it')
    .option('--down', 'after the one below it')
    .action(
      does((context, n: string, options: MoveOptions) => editBacklogCommand(moveOf(n, options), context)),
    );
  command(program, 'init', 'lay down the shipped roles, a config and team files to edit')
    .option('--subagent <name>', 'instead, the files of a subagent: one tool for any MCP client')
    .option('--schema', 'with --subagent: also a schema for what that tool returns')
    .action(does((context, options: InitOptions) => initAny(options, context)));
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
  command(
    program,
    'install <client>',
    'put Squad into an MCP client: claude-code, claude-desktop, cursor, vscode, codex, gemini, qwen, copilot, opencode',
  )
    .option('--project', "write the workspace's file instead of the user's")
    .option('--undo', 'take the last install back')
    .option('--dry-run', 'only show the change')
    .option('-y, --yes', 'without asking')
    .action(does((context, client: string, options: object) => installCommand(client, options, context)));
  command(program, 'demo', 'see a squad at work on a throw-away repository; scripted, no key needed').action(
    does(context => demoCommand(context)),
  );

  const config = program
    .command('config')
    .description('what is set, and where it came from; check files')
    .exitOverride();
  command(config, 'show', 'every value in force and its origin').action(does(context => showConfig(context)));
  command(
    config,
    'lint [files...]',
    "check subagents' files: those named, all of a folder, or every *.subagent.yaml and *.cpe.yaml here",
  ).action(does((context, files: string[]) => lintConfig(files, context)));
  command(config, 'set <key> <value>', 'change one of the limits').action(
    does((context, key: string, value: string) => setConfig(key, value, context)),
  );
  command(config, 'unset <key>', 'back to the default').action(
    does((context, key: string) => setConfig(key, null, context)),
  );
}
