import type { Permission, PolicyRule } from './run.ts';

/**
 * Describes each permission, in the same words wherever people choose or read it. How far each engine enforces it:
 * docs/reference/permissions.md.
 */
export const PERMISSION_TEXT: Record<Permission, string> = {
  read: 'read files, change nothing',
  edit: 'run commands, change files in its folder',
  full: 'skip every check and sandbox of the engine',
};

/** Describes who enforces a rule. */
export const HOLDER_TEXT: Record<PolicyRule['heldBy'], string> = {
  system: 'enforced by Squad',
  engine: 'enforced by the engine',
  advisory: 'only instructed',
};
