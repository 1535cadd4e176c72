export const HELP = `squad mcp is the MCP server: an MCP client starts it and speaks JSON-RPC on its standard input and output.

  squad install claude-code     puts it into a client's configuration (also claude-desktop, cursor, vscode, codex, gemini, qwen, copilot, opencode)
  squad mcp --workspace DIR     works in DIR instead of the current folder
  squad mcp --toolsets LIST     offers these sets of tools: core (the default), team, templates; with commas between them
  squad mcp --identity FILE     speaks for a run; Squad gives this to the agents it starts
  squad mcp serve --config FILE is another server: one tool, the subagent that FILE defines

Other MCP servers for agents: squad mcp add | remove | import | lint | status | tools | approve (squad help mcp)
To run agents from this terminal: squad run ROLE "task"
`;

export const SERVE_HELP = `squad mcp serve is an MCP server with one tool: the subagent that a file defines. An MCP client starts it and speaks JSON-RPC on its standard input and output.

  squad mcp serve --config FILE    serves the subagent of FILE, in the folder and with the environment it is started in

A new file:       squad init --subagent NAME
What is wrong:    squad config lint FILE
In a client:      the entry that squad init --subagent NAME prints, also for files that are there already
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
  return {
    problem:
      '--config FILE is missing: the file that defines the subagent. `squad init --subagent NAME` writes one',
  };
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
    if (!Object.hasOwn(needs, name)) return `${args[i]} means nothing here. Known: ${known}, --help`;
    const word = value ?? args[++i];
    if (!word) return `${name} needs ${needs[name]}`;
    if (Object.hasOwn(given, name)) return `${name} is there twice: ${given[name]} and ${word}`;
    given[name] = word;
  }
  return given;
}
