import type { Input } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';

/** What the user may say about a merge before it is tried. */
export interface MergeWish {
  /** Empty: the branch the runs began from. */
  into: string;
  /** `project`: as configured, if it is. */
  check: 'project' | 'command' | 'none';
  /** For a shell; it counts only where `check` says so. */
  command: string;
}

export const NO_WISH: MergeWish = { into: '', check: 'project', command: '' };

export function planInput(wish: MergeWish): Pick<Input<'plan_integration'> & object, 'into' | 'check'> {
  const { into, check, command } = inForce(wish);
  return {
    ...(into !== '' && { into }),
    ...(check === 'none' && { check: false as const }),
    ...(check === 'command' && { check: command }),
  };
}

/** The same for `squad integrate`. */
export function mergeFlags(wish: MergeWish): string {
  const { into, check, command } = inForce(wish);
  return [
    ...(into === '' ? [] : [` --into ${shellWord(into)}`]),
    ...(check === 'none' ? [' --no-check'] : []),
    ...(check === 'command' ? [` --check ${shellWord(command)}`] : []),
  ].join('');
}

export const isSameWish = (a: MergeWish, b: MergeWish): boolean => mergeFlags(a) === mergeFlags(b);

/** A command of nothing is none of one's own. */
function inForce({ into, check, command }: MergeWish): MergeWish {
  const words = command.trim();
  return {
    into: into.trim(),
    check: check === 'command' && words === '' ? 'project' : check,
    command: words,
  };
}
