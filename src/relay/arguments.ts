export const HELP = `squad mcp is the MCP server: an MCP client starts it and speaks JSON-RPC on its standard input and output.

  squad install claude-code     puts it into a client's configuration (also cursor, vscode, codex, gemini, copilot, opencode)
  squad mcp --workspace DIR     works in DIR instead of the current folder

To run agents from this terminal: squad run ROLE "task"
`;

type Flags = { workspace?: string; help: boolean } | { problem: string };

export function workspaceFlag(args: string[]): Flags {
  let workspace: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const [name, value] = args[i]!.split(/=(.*)/s, 2);
    if (name === '--help' || name === '-h') return { help: true };
    if (name !== '--workspace')
      return { problem: `${args[i]} means nothing here. Known: --workspace DIR, --help` };
    workspace = value ?? args[++i];
    if (!workspace) return { problem: '--workspace needs a folder' };
  }
  return { workspace, help: false };
}
