import { z } from 'zod';

/**
 * `off`: the agent has all rights of the user. `workspace`: it can write only to its folder, and the rest of the home, other runs
 * and other processes are hidden. `strict`: in addition only allowed hosts can be reached.
 */
export const SandboxLevel = z.enum(['off', 'workspace', 'strict']);
export type SandboxLevel = z.infer<typeof SandboxLevel>;

/** `full`: every host. `models`: the API hosts of the engine, and the hosts of the role. `none`: only the hosts of the role. The hub can always be reached. */
export const NetworkAccess = z.enum(['full', 'models', 'none']);
export type NetworkAccess = z.infer<typeof NetworkAccess>;

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';

/**
 * Host that a sandboxed agent may reach: `example.com`, `*.example.com` (only subdomains) or `example.com:8443`.
 * Without a port, 443 and 80 are allowed.
 */
export const AllowedHost = z
  .string()
  .max(260)
  .toLowerCase()
  .regex(
    new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*(:[1-9]\\d{0,4})?$`),
    'must be a host name, with * only as its first label',
  );

/** How a run is confined. Fixed when the run is planned. */
export const RunSandbox = z.object({
  level: SandboxLevel,
  network: NetworkAccess,
  /** Hosts that can be reached in addition to those of the engine. */
  hosts: z.array(AllowedHost),
  /** Files and folders that can be read in addition, from the user's settings. */
  read: z.array(z.string()).default([]),
});
export type RunSandbox = z.infer<typeof RunSandbox>;

export const NO_SANDBOX: RunSandbox = { level: 'off', network: 'full', hosts: [], read: [] };

/** Ranks of sandbox levels. A stricter level has a higher rank. */
const RANKS = { off: 0, workspace: 1, strict: 2, full: 0, models: 1, none: 2 } as const;

export const isWeaker = <T extends SandboxLevel | NetworkAccess>(value: T, than: T): boolean =>
  RANKS[value] < RANKS[than];

export const stronger = <T extends SandboxLevel | NetworkAccess>(a: T, b: T): T => (isWeaker(a, b) ? b : a);
