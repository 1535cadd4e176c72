import type { Input } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';

/** What the user may say about a merge before it is tried. */
export interface MergeRequest {
  /** Empty: the branch the runs began from. */
  into: string;
  /** `project`: as configured, if it is. */
  check: 'project' | 'command' | 'none';
  /** For a shell; it counts only where `check` says so. */
  command: string;
}

export const NO_WISH: MergeRequest = { into: '', check: 'project', command: '' };

export function planInput(wish: MergeRequest): Pick<Input<'plan_integration'> & object, 'into' | 'check'> {
  const { into, check, command } = inForce(wish);
  return {
    ...(into !== '' && { into }),
    ...(check === 'none' && { check: false as const }),
    ...(check === 'command' && { check: command }),
  };
}

/** The same for `squad integrate`. */
export function mergeFlags(wish: MergeRequest): string {
  const { into, check, command } = inForce(wish);
  return [
    ...(into === '' ? [] : [` --into ${shellWord(into)}`]),
    ...(check === 'none' ? [' --no-check'] : []),
    ...(check === 'command' ? [` --check ${shellWord(command)}`] : []),
  ].join('');
}

export const isSameWish = (a: MergeRequest, b: MergeRequest): boolean => mergeFlags(a) === mergeFlags(b);

/** A command of nothing is none of one's own. */
function inForce({ into, check, command }: MergeRequest): MergeRequest {
  const words = command.trim();
  return {
    into: into.trim(),
    check: check === 'command' && words === '' ? 'project' : check,
    command: words,
  };
}
