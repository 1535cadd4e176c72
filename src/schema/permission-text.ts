import type { Permission, PolicyRule } from './run.ts';
import type { NetworkAccess, RunSandbox, SandboxLevel } from './sandbox.ts';

/**
 * Describes each permission, in the same words wherever people choose or read it. How far each engine enforces it:
 * docs/reference/permissions.md.
 */
export const PERMISSION_TEXT: Record<Permission, string> = {
  read: 'read files, change nothing',
  edit: 'run commands, change files in its folder',
  full: 'skip every check and sandbox of the engine',
};

export const SANDBOX_TEXT: Record<SandboxLevel, string> = {
  off: "all of the user's rights",
  workspace: 'write only in its folder, the rest of the home hidden',
  strict: 'like workspace, and only allowed hosts',
};

export const NETWORK_TEXT: Record<NetworkAccess, string> = {
  full: 'every host',
  models: "the engine's API and the hosts of the role",
  none: 'the hosts of the role',
};

/** Describes the sandbox in lists and end lines, for example `workspace` or `strict, network: none`. */
export const sandboxText = ({ level, network, hosts }: RunSandbox): string =>
  [
    level,
    ...(level === 'off' || network === 'full' ? [] : [`network: ${network}`]),
    ...(hosts.length > 0 ? [`hosts: ${hosts.join(' ')}`] : []),
  ].join(', ');

/** Describes who enforces a rule. */
export const HOLDER_TEXT: Record<PolicyRule['heldBy'], string> = {
  system: 'enforced by Squad',
  engine: 'enforced by the engine',
  advisory: 'only instructed',
};
