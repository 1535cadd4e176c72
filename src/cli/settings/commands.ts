import type { Command } from 'commander';
import { type CommandMaker, examples, limitOption } from '../arguments.ts';
import { contextCommand, rolesCommand } from '../roles/roles.ts';
import { type InitOptions, initAny } from '../setup/init.ts';
import { lintConfig } from '../subagents/lint.ts';
import { backlogCommand, editBacklogCommand, itemNumber, type MoveOptions, moveOf } from '../team/backlog.ts';
import { type DecisionsOptions, decisionsCommand, teamCommand } from '../team/team.ts';
import { getConfig, setConfig, showConfig, type WhereOptions } from './config.ts';
import { trustCommand } from './trust.ts';

/** Commands for the roles and the files of the team. */
export function addTeamCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'roles', 'List the roles of this project and the errors in their files').action(
    does(context => rolesCommand(context)),
  );
  command(program, 'context [role]', 'Preview the project context that an agent gets, and its size')
    .option('--engine <name>', 'Preview for this engine (some engines read files themselves)')
    .option('--files <list>', 'Send only these files (comma-separated) instead of the default ones')
    .option('--text', 'Print only the text that would be sent')
    .addHelpText('after', examples('squad context coder'))
    .action(
      does((context, role: string | undefined, options: object) => contextCommand(role, options, context)),
    );
  command(program, 'team', 'List the members of the team and what they are running').action(
    does(context => teamCommand(context)),
  );
  command(program, 'decisions [decision]', 'List the decisions of the team, newest first, or show one')
    .option('-s, --search <words>', 'Search the decisions, best match first')
    .addOption(limitOption('Maximum number of decisions', 20, 1000))
    .addHelpText('after', examples('squad decisions --search "date format"'))
    .action(
      does((context, id: string | undefined, options: DecisionsOptions) =>
        decisionsCommand(id, options, context),
      ),
    );
  const backlog = command(program, 'backlog', 'List the items of .squad/backlog.md').action(
    does(context => backlogCommand(context)),
  );
  command(backlog, 'add <title>', 'Add an item')
    .option('--owner <name>', 'Owner of the item')
    .option(
      '--under <heading>',
      'Add the item under this heading (default: the first heading with open items)',
    )
    .action(
      does((context, title: string, { owner, under }: { owner?: string; under?: string }) =>
        editBacklogCommand({ action: 'add', title, owner, under }, context),
      ),
    );
  for (const [action, description] of [
    ['done', 'Mark an item as done'],
    ['reopen', 'Mark an item as open again'],
  ] as const)
    command(backlog, `${action} <n>`, description).action(
      does((context, n: string) => editBacklogCommand({ action, number: itemNumber('N', n) }, context)),
    );
  command(backlog, 'move <n>', 'Move an item')
    .option('--before <m>', 'Move the item before item number M')
    .option('--up', 'Move the item up by one place')
    .option('--down', 'Move the item down by one place')
    .action(
      does((context, n: string, options: MoveOptions) => editBacklogCommand(moveOf(n, options), context)),
    );
}

/** Commands for the configuration of a project and of a user. */
export function addSettingsCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'init', 'Create roles, a config file and team files to edit')
    .option('--subagent <name>', 'Create the files of a subagent instead: one tool for any MCP client')
    .option('--schema', 'With --subagent: also create a JSON Schema for the output of the subagent')
    .action(does((context, options: InitOptions) => initAny(options, context)));
  command(program, 'trust [files...]', 'Trust config and templates of this repository that run commands')
    .option('-y, --yes', 'Do not ask for confirmation')
    .option('--remove', 'Stop trusting the file')
    .addHelpText('after', examples('squad trust', 'squad trust .squad/squad.json --yes'))
    .action(does((context, files: string[], options: object) => trustCommand(files, options, context)));

  const config = program
    .command('config')
    .description('Show and change settings, check subagent files')
    .exitOverride();
  command(config, 'show', 'Show every setting and where it comes from')
    .alias('list')
    .action(does(context => showConfig(context)));
  command(config, 'get <key>', 'Print the value of a setting; exit code 1 if it is not set').action(
    does((context, key: string) => getConfig(key, context)),
  );
  const where = (made: Command) =>
    made
      .option('--user', 'Write to your own config file (the default)')
      .option('--project', 'Write to .squad/squad.json of this workspace')
      .addHelpText('after', '\nLimits are stored by the hub, not in a file; `squad config show` lists them.');
  where(command(config, 'set <key> <value...>', 'Change a setting; several values, or JSON, make a list'))
    .addHelpText(
      'after',
      examples(
        'squad config set engine codex',
        'squad config set --project check npm test',
        'squad config set context.budgetTokens 20000',
        'squad config set limits.concurrency 4',
      ),
    )
    .action(
      does((context, key: string, values: string[], options: WhereOptions) =>
        setConfig(key, values, options, context),
      ),
    );
  where(command(config, 'unset <key>', 'Remove a setting, or reset a limit to its default')).action(
    does((context, key: string, options: WhereOptions) => setConfig(key, null, options, context)),
  );
  command(
    config,
    'lint [files...]',
    'Check subagent files or folders (default: every *.subagent.yaml and *.cpe.yaml here)',
  ).action(does((context, files: string[]) => lintConfig(files, context)));
}
