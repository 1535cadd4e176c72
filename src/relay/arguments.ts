export const HELP = `Usage: squad mcp [options]

Run Squad as an MCP server on standard input and output; MCP clients start it

Options:
  --workspace DIR  Use this workspace (default: the current folder)
  --toolsets LIST  Toolsets to offer, separated by commas: core, team, templates
                   (default: core)
  --identity FILE  Identity of a run; Squad passes it to the agents it starts
  -h, --help       Show this help

See also:
  squad install CLIENT           Add Squad to the configuration of an MCP client:
                                 claude-code, claude-desktop, cursor, vscode,
                                 codex, gemini, qwen, copilot, opencode
  squad mcp serve --config FILE  Run a subagent file as an MCP server
  squad help mcp                 Manage MCP servers for agents: add, remove,
                                 import, lint, status, tools, approve
  squad run ROLE "TASK"          Run agents from this terminal
`;

export const SERVE_HELP = `Usage: squad mcp serve --config FILE

Run a subagent file as an MCP server with one tool; MCP clients start it.
It uses the folder and the environment in which it is started.

Options:
  --config FILE  Subagent file
  -h, --help     Show this help

See also:
  squad init --subagent NAME  Create a subagent file and print the configuration
                              for MCP clients
  squad config lint FILE      Check a subagent file
`;

const NEEDS: Readonly<Record<string, string>> = {
  '--workspace': 'a folder',
  '--toolsets': 'names of toolsets',
  '--identity': 'a file',
};

export interface RelayFlags {
  workspace?: string;
  toolsets?: string;
  identity?: string;
}
interface ServeFlags {
  /** The subagent's file, as it was given. */
  config: string;
}
type Flags = RelayFlags | ServeFlags | { help: string } | { problem: string };

export function flagsIn(args: string[]): Flags {
  if (args[0] === 'serve') return serveFlags(args.slice(1));
  const given = valuesIn(args, NEEDS, '--workspace DIR, --toolsets LIST, --identity FILE');
  if (given === null) return { help: HELP };
  if (typeof given === 'string') return { problem: given };
  return { workspace: given['--workspace'], toolsets: given['--toolsets'], identity: given['--identity'] };
}

function serveFlags(args: string[]): Flags {
  const given = valuesIn(args, { '--config': 'a file' }, '--config FILE');
  if (given === null) return { help: SERVE_HELP };
  if (typeof given === 'string') return { problem: given };
  const config = given['--config'];
  if (config !== undefined) return { config };
  return { problem: '--config FILE is required. Create a subagent file with `squad init --subagent NAME`' };
}

/** Value of each flag; a text: the error; null: help was requested. */
function valuesIn(
  args: string[],
  needs: Readonly<Record<string, string>>,
  known: string,
): Record<string, string> | string | null {
  const given: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [name = '', value] = args[i]!.split(/=(.*)/s, 2);
    if (name === '--help' || name === '-h') return null;
    if (!Object.hasOwn(needs, name)) return `Unknown argument ${args[i]}. Known: ${known}, --help`;
    const word = value ?? args[++i];
    if (!word) return `${name} needs ${needs[name]}`;
    if (Object.hasOwn(given, name)) return `${name} was given twice: ${given[name]} and ${word}`;
    given[name] = word;
  }
  return given;
}
