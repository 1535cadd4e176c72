import type { McpConfig } from '../../schema/mcp-config.ts';
import { lintReferences } from './lint-references.ts';
import { lintServer } from './lint-server.ts';

/** Something a user should know about the configuration, at a place in it. */
export interface ConfigFinding {
  level: 'error' | 'warning';
  path: (string | number)[];
  message: string;
  suggestion?: string;
  /** What is wrong is the machine, where something is not set, and not the file. */
  isLacking?: boolean;
}

export interface KnownToLint {
  /** Null: not known, so nothing is said about roles. */
  roles: readonly string[] | null;
  /** Null: not known, so nothing is said about what is set. */
  env: Readonly<Record<string, string>> | null;
  /** By server, in its own names. One that was never seen is not in it. */
  tools?: Readonly<Record<string, readonly string[]>>;
  /** What role files give; left out: not known, so nothing is said about servers that nobody has. */
  roleFiles?: readonly RoleServers[];
}

/** What the file of a role names under `mcp`. */
export interface RoleServers {
  id: string;
  file: string;
  mcp: readonly string[];
  /** False: it has no effect until somebody trusts the file. */
  isTrusted: boolean;
}

/** What a configuration that can be read says wrongly, or in a way that is likely not meant. Never a value of a variable. */
export function lintMcpConfig(config: McpConfig, known: KnownToLint): ConfigFinding[] {
  return [
    ...Object.entries(config.servers).flatMap(([id, server]) => lintServer(id, server, known)),
    ...lintReferences(config, known),
  ];
}
