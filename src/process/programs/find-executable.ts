import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';

export type FoundExecutable =
  | { status: 'found'; path: string }
  /** The file exists but cannot be run: it is a folder, or has no execute permission. */
  | { status: 'not_executable'; path: string }
  | { status: 'not_found' };

/**
 * Finds the program that a shell in `cwd` would run. A name with a slash is a path. An empty part of PATH is the
 * current folder.
 */
export function findExecutable(name: string, where: { path: string; cwd: string }): FoundExecutable {
  if (name === '' || name.includes('\0')) return { status: 'not_found' };
  const folders = name.includes('/') ? [''] : where.path.split(':');
  let blocked: string | null = null;
  for (const folder of folders) {
    const path = resolve(where.cwd, folder, name);
    const state = inspect(path);
    if (state === 'executable') return { status: 'found', path };
    if (state === 'blocked') blocked ??= path;
  }
  return blocked === null ? { status: 'not_found' } : { status: 'not_executable', path: blocked };
}

function inspect(path: string): 'executable' | 'blocked' | 'absent' {
  try {
    if (!statSync(path).isFile()) return 'blocked';
  } catch {
    return 'absent';
  }
  try {
    accessSync(path, constants.X_OK);
    return 'executable';
  } catch {
    return 'blocked';
  }
}
