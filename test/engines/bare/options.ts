/** Settings of one agent CLI that is started without Squad. */
export interface BareOptions {
  /** The model server. */
  url: string;
  /** The CLI's own; not below $TMPDIR, where Codex's sandbox does not start. */
  home: string;
  cwd: string;
  /** The chat to resume. */
  chat?: string;
  mcp?: BareMcp;
  /** The answer's JSON schema, for the CLIs that take one. */
  schema?: object;
  /** Leaves out what allows tools, to see what the CLI does when it may not use them. */
  ungranted?: boolean;
}

export interface BareMcp {
  name: string;
  argv: string[];
}

export interface BareCommand {
  argv: string[];
  /** The whole environment: nothing of this machine's goes in. */
  env: Record<string, string>;
}

/** Arguments and environment of one CLI; the prompt goes to its standard input. */
export type BareCli = (options: BareOptions) => { args: string[]; env?: Record<string, string> };

/** The form most CLIs want an MCP server in. */
export const stdioServer = ({ argv: [command, ...args] }: BareMcp) => ({
  type: 'stdio',
  command,
  args,
  env: {},
});
