import { findExecutable } from '../../process/programs/find-executable.ts';

/** Why the program of `onEnd` or `onAsk` could not be started from this folder with this PATH; null when it could. */
export function hookFault([program = '']: readonly string[], cwd: string, path: string): string | null {
  const found = findExecutable(program, { path, cwd });
  if (found.status === 'found') return null;
  return found.status === 'not_found'
    ? `${program} was not found`
    : `${found.path} is not a file that can be run`;
}
