import type { Permission, PolicyRule } from './run.ts';

/** What a permission allows, the same words wherever people choose or read one. How far each engine holds it: docs/reference/permissions.md. */
export const PERMISSION_TEXT: Record<Permission, string> = {
  read: 'read files, change nothing',
  edit: 'run commands, change files in its folder',
  full: 'skip every check and sandbox of the engine',
};

/** Who makes sure that a rule is kept. */
export const HOLDER_TEXT: Record<PolicyRule['heldBy'], string> = {
  system: 'enforced by Squad',
  engine: 'enforced by the engine',
  advisory: 'only instructed',
};
