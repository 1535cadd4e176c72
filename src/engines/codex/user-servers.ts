import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The MCP servers of the user's own `config.toml`, by the tables `codex mcp add` writes. Codex has no switch for all of them:
 * each is turned off by name.
 */
export function userServers(env: Record<string, string>): string[] {
  const home = env.CODEX_HOME || (env.HOME ? join(env.HOME, '.codex') : null);
  if (home === null) return [];
  try {
    return serversIn(readFileSync(join(home, 'config.toml'), 'utf8'));
  } catch {
    return []; // no file, no servers
  }
}

/** Only names that need no quotes in a key: others stay as they are. */
export function serversIn(toml: string): string[] {
  const tables = toml.matchAll(/^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(["']?)([\w-]+)\1[ \t]*[\].]/gm);
  return [...new Set([...tables].map(([, , name]) => name!))];
}
