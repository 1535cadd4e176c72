export const HELP = `squad mcp is the MCP server: an MCP client starts it and speaks JSON-RPC on its standard input and output.

  squad install claude-code     puts it into a client's configuration (also cursor, vscode, codex, gemini, copilot, opencode)
  squad mcp --workspace DIR     works in DIR instead of the current folder
  squad mcp --toolsets LIST     offers these sets of tools: core (the default), team, templates; with commas between them
  squad mcp --identity FILE     speaks for a run; Squad gives this to the agents it starts

Other MCP servers for agents: squad mcp add | remove | import | lint | status | tools | approve (squad help mcp)
To run agents from this terminal: squad run ROLE "task"
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
type Flags = (RelayFlags & { help: boolean }) | { problem: string };

export function flagsIn(args: string[]): Flags {
  const given: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [name = '', value] = args[i]!.split(/=(.*)/s, 2);
    if (name === '--help' || name === '-h') return { help: true };
    const needs = Object.hasOwn(NEEDS, name) ? NEEDS[name] : undefined;
    if (needs === undefined)
      return {
        problem: `${args[i]} means nothing here. Known: --workspace DIR, --toolsets LIST, --identity FILE, --help`,
      };
    const word = value ?? args[++i];
    if (!word) return { problem: `${name} needs ${needs}` };
    given[name] = word;
  }
  return {
    workspace: given['--workspace'],
    toolsets: given['--toolsets'],
    identity: given['--identity'],
    help: false,
  };
}
