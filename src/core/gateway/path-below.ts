import { posix } from 'node:path';

/**
 * Whether a path, taken from the workspace and with every `..` followed, is a folder or inside it. Goes by the letters: where a
 * link leads is for the server to look after. Refuses every form that a program might read as another path than we do.
 */
export function isBelow(path: unknown, folder: string, workspaceRoot: string): boolean {
  if (typeof path !== 'string' || !isPlainPath(path) || !posix.isAbsolute(workspaceRoot)) return false;
  if (folder.includes('${')) return false;
  const top = posix.resolve(workspaceRoot, folder);
  const target = posix.resolve(workspaceRoot, path);
  return target === top || target.startsWith(top === '/' ? top : `${top}/`);
}

function isPlainPath(path: string): boolean {
  return (
    path !== '' &&
    // Trimmed by some, and then absolute.
    path.trim() === path &&
    // Backslashes part folders on other systems; NUL and its like end a path early.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    !/[\\\u0000-\u001f\u007f]/.test(path) &&
    // Home folders, and URLs such as file:/etc or drives such as C:/.
    !/^(~|[a-z][a-z0-9+.-]*:)/i.test(path) &&
    // A dot, slash or backslash once decoded.
    !/%(2e|2f|5c)/i.test(path)
  );
}
