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
      'the MCP server that clients start (see `squad install`); with a word: other servers for agents',
    )
    .exitOverride();
  // This too is the relay: here it is only told of.
  mcp
    .command('serve')
    .description('a server with one tool, the subagent that a file defines; MCP clients start it')
    .requiredOption('--config <file>', 'the file of the subagent')
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
  command(mcp, 'tools [file]', "list the tools a role has of other servers, or those of a subagent's file")
    .option('--role <id>', 'this role; otherwise a run without one')
    .action(
      does((context, file: string | undefined, options: { role?: string }) => {
        if (file === undefined) return mcpTools(options, context);
        if (options.role === undefined) return mcpToolsOfFile(file, context);
        throw new SquadError('INVALID_INPUT', 'Give either the file of a subagent or --role', {
          suggestions: ["A subagent has the servers of its file, and no role's."],
        });
      }),
    );
  command(mcp, 'approve [what]', 'let tools take effect that came or changed later: SERVER or SERVER/TOOL')
    .option('-y, --yes', 'without asking')
    .action(does((context, what: string | undefined, options: object) => mcpApprove(what, options, context)));
}

const collected = (value: string, before: string[] = []): string[] => [...before, value];
