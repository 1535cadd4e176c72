/** How another MCP server is started or reached, with every variable filled in. Holds secrets. */
export type ResolvedServer =
  | { kind: 'stdio'; command: string; args: string[]; cwd: string; env: Record<string, string> }
  | { kind: 'http' | 'sse'; url: string; headers: Record<string, string> };
