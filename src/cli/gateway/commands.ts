import type { Command } from 'commander';
import { SquadError } from '../../schema/error.ts';
import type { CommandMaker } from '../arguments.ts';
import { mcpApprove } from './mcp-approve.ts';
import { mcpImport } from './mcp-import.ts';
import { mcpLint } from './mcp-lint.ts';
import { mcpAdd, mcpRemove } from './mcp-servers.ts';
import { mcpStatus, mcpTools, mcpToolsOfFile } from './mcp-status.ts';

/** Adds commands for the MCP servers that agents use. */
export function addMcpCommands(program: Command, { command, does }: CommandMaker): void {
  // `squad mcp` without a subcommand is the relay, which `bin/squad.cjs` starts without loading this file.
  const mcp = program
    .command('mcp')
    .description(
      'Run Squad as an MCP server for clients (see `squad install`), or manage MCP servers for agents',
    )
    .exitOverride();
  // The relay handles this command too; it is registered here only for the help.
  mcp
    .command('serve')
    .description('Run a subagent file as an MCP server with one tool, for clients')
    .requiredOption('--config <file>', 'Subagent file')
    .exitOverride();
  // `bin/squad.cjs` starts this command without loading this file; it is registered here only for the help.
  program
    .command('acp')
    .description('Run Squad as an agent in editors: Zed, JetBrains, Neovim (see `squad install`)')
    .exitOverride();
  command(mcp, 'add <name> [command...]', 'Add an MCP server for agents')
    .usage('[options] NAME (--url URL | -- COMMAND [ARGUMENTS])')
    .option('--role <id>', 'Give the server to this role (repeatable)', collected)
    .option('--shared', 'Give the server to every run')
    .option('--tools <list>', 'Only these tools of the server, separated by commas (default: all)')
    .option(
      '--env <pair>',
      `Environment variable NAME=VALUE for the command; '\${NAME}' in VALUE is expanded (repeatable)`,
      collected,
    )
    .option('--url <url>', 'URL of a remote server, instead of a command')
    .option('--sse', 'Use the older SSE transport for the URL')
    .option('--header <pair>', 'HTTP header NAME=VALUE for the URL (repeatable)', collected)
    .option('--force', 'Replace an existing server of that name')
    .action(
      does((context, name: string, program: string[], options: object) =>
        mcpAdd(name, program, options, context),
      ),
    );
  command(
    mcp,
    'remove <name>',
    'Remove a server and all references to it from .squad/mcp-config.json',
  ).action(does((context, name: string) => mcpRemove(name, context)));
  command(
    mcp,
    'import [file]',
    'Import servers from FILE (default: .mcp.json, .cursor/mcp.json and .vscode/mcp.json)',
  )
    .option('--role <id>', 'Give the servers to this role (repeatable)', collected)
    .option('--shared', 'Give the servers to every run')
    .option('-y, --yes', 'Do not ask for confirmation')
    .action(does((context, file: string | undefined, options: object) => mcpImport(file, options, context)));
  command(mcp, 'lint [file]', 'Check .squad/mcp-config.json for errors').action(
    does((context, file: string | undefined) => mcpLint(file, context)),
  );
  command(mcp, 'status', 'Show the status of each server').action(does(context => mcpStatus(context)));
  command(
    mcp,
    'tools [file]',
    'List the tools that a role gets from its servers, or the tools of a subagent file',
  )
    .option('--role <id>', 'List the tools of this role (default: those of a run without a role)')
    .action(
      does((context, file: string | undefined, options: { role?: string }) => {
        if (file === undefined) return mcpTools(options, context);
        if (options.role === undefined) return mcpToolsOfFile(file, context);
        throw new SquadError('INVALID_INPUT', 'Give either a subagent file or --role, not both', {
          suggestions: ['A subagent uses only the servers in its own file, so --role does not apply to it.'],
        });
      }),
    );
  command(
    mcp,
    'approve [what]',
    'Approve tools that a server added or changed, given as SERVER or SERVER/TOOL (default: all)',
  )
    .option('-y, --yes', 'Do not ask for confirmation')
    .action(does((context, what: string | undefined, options: object) => mcpApprove(what, options, context)));
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];
