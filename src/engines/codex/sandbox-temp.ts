import { isAbsolute, join, relative } from 'node:path';

/**
 * Codex keeps the helper of its sandbox in its home, and not when that lies below the temp folder; then every command
 * fails and its events say nothing of it. Such a home gets another temp folder.
 */
export function sandboxTemp(env: Record<string, string>): { TMPDIR?: string } {
  const home = env.CODEX_HOME || (env.HOME ? join(env.HOME, '.codex') : '');
  const temp = env.TMPDIR || '/tmp';
  if (!home || !isBelow(home, temp)) return {};
  const other = ['/var/tmp', '/tmp'].find(folder => !isBelow(home, folder));
  return other ? { TMPDIR: other } : {};
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
