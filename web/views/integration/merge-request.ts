import type { Input } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';

/** The user's settings for a merge. */
export interface MergeRequest {
  /** Target branch. Empty means the branch that the runs started from. */
  into: string;
  /** Check to run before the merge. `project` is the configured check, if there is one. */
  check: 'project' | 'command' | 'none';
  /** Shell command; used only if `check` is `command`. */
  command: string;
}

export const DEFAULT_REQUEST: MergeRequest = { into: '', check: 'project', command: '' };

export function planInput(request: MergeRequest): Pick<Input<'plan_integration'> & object, 'into' | 'check'> {
  const { into, check, command } = inForce(request);
  return {
    ...(into !== '' && { into }),
    ...(check === 'none' && { check: false as const }),
    ...(check === 'command' && { check: command }),
  };
}

/** Options of `squad integrate` for the same request. */
export function mergeFlags(request: MergeRequest): string {
  const { into, check, command } = inForce(request);
  return [
    ...(into === '' ? [] : [` --into ${shellWord(into)}`]),
    ...(check === 'none' ? [' --no-check'] : []),
    ...(check === 'command' ? [` --check ${shellWord(command)}`] : []),
  ].join('');
}

export const isSameRequest = (a: MergeRequest, b: MergeRequest): boolean => mergeFlags(a) === mergeFlags(b);

/** An empty custom command means the project default. */
function inForce({ into, check, command }: MergeRequest): MergeRequest {
  const words = command.trim();
  return {
    into: into.trim(),
    check: check === 'command' && words === '' ? 'project' : check,
    command: words,
  };
}
