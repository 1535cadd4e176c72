import { realpathSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { currentFolder } from '../link/program.ts';

/** The workspace as the hub names it: absolute, links resolved. */
export function workspaceRoot(given: string | undefined): string {
  const named = given || process.env.SQUAD_WORKSPACE || '.';
  const folder = isAbsolute(named) ? resolve(named) : join(currentFolder(), named);
  try {
    return realpathSync(folder);
  } catch {
    return folder; // a workspace that was removed still has its runs
  }
}
