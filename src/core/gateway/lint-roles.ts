import type { McpConfig } from '../../schema/mcp-config.ts';
import type { KnownToLint, RoleWish } from './lint-config.ts';
import { meant } from './lint-references.ts';
import { meansAny } from './tool-names.ts';

/** Something a role file names under `mcp` that is not there. */
export interface RoleFinding {
  file: string;
  message: string;
  suggestion?: string;
}

/** What role files name and nobody has. Squad's own tools, `squad/…`, are no other server's. */
export function lintRoleFiles(
  { servers, disabled = {} }: Pick<McpConfig, 'servers' | 'disabled'>,
  roleFiles: readonly RoleWish[],
  tools: NonNullable<KnownToLint['tools']>,
): RoleFinding[] {
  return roleFiles.flatMap(({ file, mcp }) =>
    mcp.flatMap((entry): RoleFinding[] => {
      const server = serverIn(entry);
      if (server === 'squad') return [];
      if (Object.hasOwn(disabled, server)) return [];
      if (!Object.hasOwn(servers, server))
        return [{ file, message: `There is no server "${server}"`, ...meant(server, Object.keys(servers)) }];
      const tool = entry.slice(server.length + 1);
      const there = Object.hasOwn(tools, server) ? tools[server]! : null;
      if (tool === '' || there === null || meansAny(tool, server, new Set(there), false)) return [];
      return [{ file, message: `There is no tool "${tool}" in ${server}`, ...meant(tool, there) }];
    }),
  );
}

/** `files/read` and `files` are both of `files`. */
export const serverIn = (entry: string): string => entry.split('/', 1)[0]!;
