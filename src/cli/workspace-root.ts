import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';

/** The workspace as the hub names it: absolute, links resolved. */
export function workspaceRoot(given: string | undefined): string {
  const folder = resolve(given || process.env.SQUAD_WORKSPACE || '.');
  try {
    return realpathSync(folder);
  } catch {
    return folder; // a workspace that was removed still has its runs
  }
}
