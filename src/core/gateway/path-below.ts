import { posix } from 'node:path';

/** From where relative paths count: the folders of a rule, and what a server is given. */
export interface Origins {
  workspaceRoot: string;
  /** The folder a server works in, which is where it takes relative paths from. Null: nobody can say. */
  serverFolder: string | null;
}

/**
 * Whether a path, as the server takes it and with every `..` followed, is a folder or inside it. Goes by the letters: where a
 * link leads is for the server to look after. Refuses every form that a program might read as another path than we do.
 */
export function isBelow(path: unknown, folder: string, { workspaceRoot, serverFolder }: Origins): boolean {
  if (typeof path !== 'string' || !isPlainPath(path) || !posix.isAbsolute(workspaceRoot)) return false;
  if (folder.includes('${')) return false;
  const from = posix.isAbsolute(path) ? '/' : serverFolder;
  if (from === null || !posix.isAbsolute(from)) return false;
  const top = posix.resolve(workspaceRoot, folder);
  const target = posix.resolve(from, path);
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
