import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { shellWord } from '../schema/shell-word.ts';

const PACKAGE = 'squad-mcp';

/**
 * Caches of `npx`, `pnpm dlx`, `yarn dlx` and `bunx`, from which the package manager deletes packages without notice.
 */
const RUNNER_CACHE = /\/(_npx|dlx(-[^/]+)?|bunx-[^/]+)\//;
export const isInRunnerCache = (path: string): boolean => RUNNER_CACHE.test(path);

/** Command line that starts Squad, without the arguments for Squad. */
export interface SquadProgram {
  command: string;
  args: string[];
}

/** Command that works without an installed package. */
export const NPX: SquadProgram = { command: 'npx', args: ['-y', PACKAGE] };

export interface OwnCommand {
  /** Command that starts this program in the user's shell. */
  name: string;
  /** Another program with the name `squad` that the shell finds first. Null if there is none. */
  other: string | null;
}

/** How the user's shell finds this program. `script`: the file that Node was started with. */
export function findOwnCommand(path: string | undefined, script: string): OwnCommand {
  const squad = onPath('squad', path);
  const other = squad !== null && !isOurs(squad) ? squad : null;
  if (squad !== null && other === null) return { name: 'squad', other };
  const second = onPath(PACKAGE, path);
  if (other !== null && second !== null && isOurs(second)) return { name: PACKAGE, other };
  // A clone has an alias named `squad`, which shells find before PATH.
  return { name: isInRunnerCache(script) ? `npx ${PACKAGE}` : 'squad', other };
}

/** Line that makes a clone a command of the user's shell. Null if PATH has one. */
export function missingAlias(path: string | undefined, script: string, node: string): string | null {
  if (isInRunnerCache(script) || onPath('squad', path) !== null || onPath(PACKAGE, path) !== null)
    return null;
  return `alias squad=${shellWord(`${shellWord(node)} ${shellWord(script)}`)}`;
}

let found: OwnCommand | undefined;

/** Cached, because the result is the same for the whole process. */
export function ownCommand(): OwnCommand {
  found ??= findOwnCommand(process.env.PATH, process.argv[1] ?? '');
  return found;
}

/** All command names: `squad` before any other word is not a command in a text. */
const COMMANDS =
  'run status watch ls ps list show log logs attach wait adopt reply tell interrupt retry cancel stop diff comment export search events cost conversation inbox answer worktrees review overlap integrate init roles context team decisions backlog trust config open up prune audit db cluster hub machines demo install doctor completion mcp acp help';
const COMMAND = new RegExp(`(?<![\\w./-])squad(?= (?:${COMMANDS.replaceAll(' ', '|')})\\b)`, 'g');

/**
 * Makes the commands in a text of Squad work in the user's shell. Must not be used on text of agents, which has to stay
 * unchanged.
 */
export function withOwnCommand(text: string, { name } = ownCommand()): string {
  return name === 'squad' ? text : text.replace(COMMAND, name);
}

/** PATH without the folders that `npx` and similar programs add temporarily. */
export const lastingPath = (path: string): string =>
  path
    .split(delimiter)
    .filter(folder => !isInRunnerCache(`${folder}/`))
    .join(delimiter);

const onPath = (name: string, path = ''): string | null =>
  foldersOf(path)
    .map(folder => join(folder, name))
    .find(isProgram) ?? null;

const foldersOf = (path: string): string[] =>
  lastingPath(path)
    .split(delimiter)
    .filter(folder => isAbsolute(folder));

interface Installation {
  /** The program on PATH. */
  program: string;
  version: string;
}

/** Programs on PATH that start another version of Squad, one for each package. */
export function otherVersions(version: string, path = ''): Installation[] {
  const byPackage = new Map<string, Installation>();
  for (const folder of foldersOf(path))
    for (const program of ['squad', PACKAGE].map(name => join(folder, name)).filter(isProgram)) {
      const found = installedPackage(program);
      if (found && found.version !== version && !byPackage.has(found.folder))
        byPackage.set(found.folder, { program, version: found.version });
    }
  return [...byPackage.values()];
}

/** The package that a program of Squad belongs to. Null for a script that starts it, whose package is not known. */
function installedPackage(program: string): { folder: string; version: string } | null {
  try {
    const real = realpathSync(program);
    if (!OWN_PROGRAM.test(real)) return null;
    const folder = join(dirname(real), '..');
    const { name, version } = packageOf(folder);
    return name === PACKAGE && typeof version === 'string' ? { folder, version } : null;
  } catch {
    return null; // the package was removed, or the folder is not one
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

const OWN_PROGRAM = /\/bin\/squad(-mcp)?\.cjs$/;

/**
 * Whether the file starts Squad, in any version. npm creates a link to Squad's file, pnpm writes a script that names
 * it.
 */
function isOurs(file: string): boolean {
  try {
    const real = realpathSync(file);
    // Volta uses one shim program for all names, so the shim is accepted.
    if (real.endsWith('volta-shim')) return true;
    if (OWN_PROGRAM.test(real)) return packageOf(join(dirname(real), '..')).name === PACKAGE;
    const text = startOf(real);
    return text.startsWith('#!') && /\bsquad-mcp\b|\bsquad\.cjs\b/.test(text);
  } catch {
    return false;
  }
}

/** Reads only the beginning of a file, because another program may be a binary of any size. */
function startOf(file: string): string {
  const bytes = Buffer.alloc(4096);
  const fd = openSync(file, 'r');
  try {
    return bytes.toString('latin1', 0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

const packageOf = (folder: string): { name?: unknown; version?: unknown } =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

const REPOSITORY = 'https://github.com/squad-mcp/squad';

/** Web address of a file in `docs`, which is not part of the package. */
export const guideUrl = (file: string): string => `${REPOSITORY}/blob/main/docs/${file}`;
