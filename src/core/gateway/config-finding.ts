export type ConfigPath = (string | number)[];

/** An error or warning about the configuration, at a place in it. */
export interface ConfigFinding {
  level: 'error' | 'warning';
  path: ConfigPath;
  message: string;
  suggestion?: string;
  /** Something is not set on this machine; the file itself is right. */
  isLacking?: boolean;
}

const finding =
  (level: ConfigFinding['level']) =>
  (path: ConfigPath, message: string, suggestion?: string): ConfigFinding => ({
    level,
    path,
    message,
    ...(suggestion !== undefined && { suggestion }),
  });

export const error = finding('error');
export const warning = finding('warning');

/** Facts besides the configuration. Without one of them, nothing is reported about it. */
export interface KnownToLint {
  roles: readonly string[] | null;
  env: Readonly<Record<string, string>> | null;
  /** By server, in its own names. A server that was never seen is not in it. */
  tools?: Readonly<Record<string, readonly string[]>>;
  roleFiles?: readonly RoleServers[];
}

/** The servers and tools that a role file names under `mcp`. */
export interface RoleServers {
  id: string;
  file: string;
  mcp: readonly string[];
  /** False: the entries have no effect until somebody trusts the file. */
  isTrusted: boolean;
}
