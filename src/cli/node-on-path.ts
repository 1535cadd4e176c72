import { realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Folders that are on PATH for one shell or one project only. */
const PASSING = /fnm_multishells|node_modules/;

/**
 * The name on PATH of the Node that runs us. A version manager's own path changes with each upgrade and would leave
 * clients with a dead command; the link on PATH moves along.
 */
export function nodeOnPath(execPath: string, path: string | undefined): string {
  const real = realPath(execPath);
  const folders = (path ?? '').split(delimiter).filter(folder => isAbsolute(folder) && !PASSING.test(folder));
  const stable = folders.map(folder => join(folder, 'node')).find(candidate => realPath(candidate) === real);
  return stable ?? execPath;
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
