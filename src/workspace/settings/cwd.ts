import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { checkText } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { isInside } from '../files/paths.ts';
import { findGitFolder } from '../git/git-folder.ts';

export interface WorkspaceGiven {
  /** Value of `--workspace`. */
  flag?: string;
  /** True if the folder came in the header of an HTTP request, which has no current folder. */
  isHeader?: boolean;
  env: Readonly<Record<string, string | undefined>>;
  /** Current folder of the client. */
  cwd: string;
  userHome: string | null;
  /** Folders that the client reports as its roots. */
  roots?: readonly string[];
}

export interface Workspace {
  /** Absolute path with links resolved. */
  root: string;
  source:
    | '--workspace'
    | 'the Squad-Workspace header'
    | 'SQUAD_WORKSPACE'
    | 'the current folder'
    | "the client's roots";
  notes: readonly string[];
}

export async function workspaceRoot(options: WorkspaceGiven): Promise<Workspace> {
  const { flag, isHeader = false, env, cwd, userHome } = options;
  if (isHeader && flag !== undefined && !isAbsolute(flag))
    throw new SquadError(
      'INVALID_INPUT',
      `The Squad-Workspace header is not an absolute path: ${JSON.stringify(flag)}`,
      { suggestions: ['Send "Squad-Workspace: /absolute/path", in UTF-8.'] },
    );
  const variable = env.SQUAD_WORKSPACE;
  const [given, source] = flag
    ? ([flag, isHeader ? 'the Squad-Workspace header' : '--workspace'] as const)
    : variable
      ? ([variable, 'SQUAD_WORKSPACE'] as const)
      : ([cwd, 'the current folder'] as const);
  checkText(given, 'The workspace');
  try {
    return { root: await usableFolder(resolve(cwd, given), source, userHome), source, notes: [] };
  } catch (refusal) {
    const chosen = source === 'the current folder' ? await chooseRoot(options.roots ?? [], userHome) : null;
    if (chosen) return chosen;
    throw refusal;
  }
}

/** Chooses the first root inside a git repository, because editors also list folders that are not projects. */
async function chooseRoot(roots: readonly string[], userHome: string | null): Promise<Workspace | null> {
  const source = "the client's roots";
  const checked = await Promise.allSettled(roots.map(root => usableFolder(root, source, userHome)));
  const usable = checked.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []));
  const repositories = await Promise.all(usable.map(findGitFolder));
  const at = repositories.findIndex(found => found !== null);
  const root = usable[Math.max(at, 0)];
  if (root === undefined) return null;
  const why = at < 0 ? 'the first usable one' : 'the first in a git repository';
  const note = `The client has ${roots.length} roots. The workspace is ${root}, ${why}; --workspace or SQUAD_WORKSPACE chooses another.`;
  return { root, source, notes: roots.length > 1 ? [note] : [] };
}

async function usableFolder(
  path: string,
  source: Workspace['source'],
  userHome: string | null,
): Promise<string> {
  const [root, home] = await Promise.all([
    realFolder(path),
    userHome === null ? null : realpath(userHome).catch(() => userHome),
  ]);
  if (typeof root !== 'string') throw refused(path, source, WHY[root.problem]);
  if (root === '/') throw refused(root, source, 'is the whole file system');
  if (root === home) throw refused(root, source, 'is your home folder');
  return root;
}

export interface CwdGiven {
  /** Root of the workspace, from `workspaceRoot`. */
  workspace: string;
  cwd?: string;
  /** Folders outside the workspace that the user allows. */
  allowedRoots: readonly string[];
}

/** Folder of a run, with links resolved. */
export async function resolveCwd({ workspace, cwd, allowedRoots }: CwdGiven): Promise<{ directory: string }> {
  checkText(cwd ?? '', 'The cwd');
  const path = resolve(workspace, cwd ?? '');
  const roots = [workspace, ...allowedRoots];
  const [directory, ...places] = await Promise.all([
    realFolder(path),
    ...roots.map(root => realpath(root).catch(() => null)),
  ]);
  const realRoots = places.filter(root => root !== null);
  const isInAny = (place: string, folders: readonly string[]) =>
    folders.some(folder => isInside(folder, place));
  if (typeof directory === 'string') {
    if (isInAny(directory, realRoots)) return { directory };
    throw outside(cwd ?? '', directory, workspace);
  }
  // Outside the allowed folders no error may reveal whether a path exists.
  if (!isInAny(path, [...roots, ...realRoots])) throw outside(cwd ?? '', path, workspace);
  if (directory.problem === 'not_a_folder')
    throw new SquadError('CWD_NOT_A_FOLDER', `The cwd "${cwd}" is not a folder: ${path}.`, {
      suggestions: ['Give a folder, relative to the workspace.'],
    });
  if (directory.problem === 'denied')
    throw new SquadError('PERMISSION_DENIED', `The cwd "${cwd}" cannot be entered: ${path}.`, {
      suggestions: ['Check the owner and mode of the folder and of those above it.'],
    });
  throw new SquadError('CWD_MISSING', `The cwd "${cwd}" does not exist: ${path}.`, {
    suggestions: [`Create the folder, or give one that exists, relative to ${workspace}.`],
  });
}

type Problem = 'missing' | 'not_a_folder' | 'denied';

const WHY: Record<Problem, string> = {
  missing: 'does not exist',
  not_a_folder: 'is not a folder',
  denied: 'cannot be entered: permission denied',
};

async function realFolder(path: string): Promise<string | { problem: Problem }> {
  try {
    const [real, info] = await Promise.all([realpath(path), stat(path)]);
    return info.isDirectory() ? real : { problem: 'not_a_folder' };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return { problem: code === 'EACCES' || code === 'EPERM' ? 'denied' : 'missing' };
  }
}

function refused(root: string, source: Workspace['source'], why: string): SquadError {
  return new SquadError('WORKSPACE_REFUSED', `The workspace ${root} (from ${source}) ${why}.`, {
    suggestions: [
      source === 'the Squad-Workspace header'
        ? 'Name the project folder: "Squad-Workspace: /absolute/path", in UTF-8.'
        : 'Name the project folder: `--workspace DIR`, or SQUAD_WORKSPACE in the environment of the client that starts Squad.',
    ],
  });
}

function outside(cwd: string, directory: string, workspace: string): SquadError {
  return new SquadError('CWD_OUTSIDE_WORKSPACE', `The cwd "${cwd}" is outside the workspace: ${directory}.`, {
    suggestions: [
      `Give a folder in ${workspace}.`,
      'Or add the folder to "allowedRoots" in your own config file: $XDG_CONFIG_HOME/squad/config.json, or ~/.config/squad/config.json.',
    ],
  });
}
