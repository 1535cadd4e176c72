import type { Command } from 'commander';
import { SquadError } from '../../schema/error.ts';
import type { CommandMaker } from '../arguments.ts';
import { mcpAdd } from './mcp-add.ts';
import { mcpApprove } from './mcp-approve.ts';
import { mcpImport } from './mcp-import.ts';
import { mcpLint } from './mcp-lint.ts';
import { mcpRemove } from './mcp-remove.ts';
import { mcpStatus } from './mcp-status.ts';
import { mcpTools, mcpToolsOfFile } from './mcp-tools.ts';

/** Other MCP servers for agents. */
export function addMcpCommands(program: Command, { command, does }: CommandMaker): void {
  // Alone it is the relay, which `bin/squad.cjs` starts without loading any of this.
  const mcp = program
    .command('mcp')
    .description(
      'Squad as an MCP server, started by clients (see `squad install`); subcommands manage other servers for agents',
    )
    .exitOverride();
  // This is the relay too; it is here for the help only.
  mcp
    .command('serve')
    .description('serve one tool, the subagent that a file defines; started by MCP clients')
    .requiredOption('--config <file>', 'file of the subagent')
    .exitOverride();
  command(mcp, 'add <name> [command...]', 'add an MCP server for agents: squad mcp add NAME -- COMMAND')
    .usage('[options] NAME (--url URL | -- COMMAND [ARGUMENTS])')
    .option('--role <id>', 'give it to this role; repeatable', collected)
    .option('--shared', 'give it to every run')
    .option('--tools <list>', 'comma-separated list of its tools, by its own names (default: all)')
    .option('--env <pair>', `NAME=VALUE for the command; '\${NAME}' in a value is a variable`, collected)
    .option('--url <url>', 'URL of a remote server, instead of a command')
    .option('--sse', 'use the older SSE transport for the URL')
    .option('--header <pair>', 'NAME=VALUE for the URL', collected)
    .option('--force', 'replace an existing server of that name')
    .action(
      does((context, name: string, program: string[], options: object) =>
        mcpAdd(name, program, options, context),
      ),
    );
  command(
    mcp,
    'remove <name>',
    'remove a server and all references to it from .squad/mcp-config.json',
  ).action(does((context, name: string) => mcpRemove(name, context)));
  command(mcp, 'import [file]', 'import servers from .mcp.json, .cursor/mcp.json and .vscode/mcp.json')
    .option('--role <id>', 'give them to this role; repeatable', collected)
    .option('--shared', 'give them to every run')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(does((context, file: string | undefined, options: object) => mcpImport(file, options, context)));
  command(mcp, 'lint [file]', 'check .squad/mcp-config.json for mistakes').action(
    does((context, file: string | undefined) => mcpLint(file, context)),
  );
  command(mcp, 'status', 'show the state of the other servers').action(does(context => mcpStatus(context)));
  command(
    mcp,
    'tools [file]',
    "list the tools that a role gets from other servers, or those of a subagent's file",
  )
    .option('--role <id>', 'role (default: a run without a role)')
    .action(
      does((context, file: string | undefined, options: { role?: string }) => {
        if (file === undefined) return mcpTools(options, context);
        if (options.role === undefined) return mcpToolsOfFile(file, context);
        throw new SquadError('INVALID_INPUT', 'Give either a subagent file or --role, not both', {
          suggestions: ['A subagent has only the servers of its file.'],
        });
      }),
    );
  command(mcp, 'approve [what]', 'approve tools that were added or changed later: SERVER or SERVER/TOOL')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(does((context, what: string | undefined, options: object) => mcpApprove(what, options, context)));
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];
