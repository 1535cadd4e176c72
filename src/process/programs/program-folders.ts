import { closeSync, existsSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { findExecutable } from './find-executable.ts';

/** Limit of symbolic links between a program's name and its file. Package managers use at most three. */
const MAX_LINKS = 20;
const MODULES = '/node_modules/';

interface Surroundings {
  PATH?: string | undefined;
  HOME?: string | undefined;
}

/**
 * Returns the folders that a program needs to start: every folder between its name and its file, its package, and the
 * same for its interpreter. They may be system folders.
 */
export function programFolders(program: string, env: Surroundings): string[] {
  const folders = new Set<string>();
  let path = program;
  for (let links = 0; links < MAX_LINKS; links++) {
    folders.add(folderOf(path, env));
    const target = linkTarget(path);
    if (target === null) break;
    path = target;
  }
  const file = realPath(program);
  if (file === null) return [...folders];
  folders.add(folderOf(file, env));
  const interpreter = interpreterOf(file, env);
  if (interpreter && realPath(interpreter) !== file)
    for (const folder of programFolders(interpreter, env)) folders.add(folder);
  return [...folders];
}

/**
 * Returns the folders in PATH with the toolchains that they belong to, for example all of `node-v24` for
 * `node-v24/bin`.
 */
export function toolchainFolders(env: Surroundings): string[] {
  const folders = (env.PATH ?? '').split(':').filter(folder => folder.startsWith('/') && existsSync(folder));
  const home = env.HOME ?? '';
  return [...new Set(folders.flatMap(folder => [prefixOf(folder, env), ...companions(folder, home)]))];
}

/**
 * Folder that a program's file needs. For a file in `node_modules` it is the package with the packages around it, for
 * any other file its toolchain or folder.
 */
function folderOf(file: string, env: Surroundings): string {
  const at = file.indexOf(MODULES);
  if (at >= 0) return file.slice(0, at + MODULES.length - 1);
  return prefixOf(dirname(file), env);
}

/**
 * Returns `X` for `X/bin` if `X` also has a `lib`. Other folders with a `bin` hold more than programs: `~/.cargo` has
 * a token, `~/.local` has the data of all programs.
 */
function prefixOf(folder: string, { HOME = '' }: Surroundings): string {
  const prefix = dirname(folder);
  const isShared = [HOME, join(HOME, '.local'), '/'].includes(prefix);
  return basename(folder) === 'bin' && !isShared && existsSync(join(prefix, 'lib')) ? prefix : folder;
}

/** Version managers put small programs into PATH that start the real programs from elsewhere. */
const COMPANIONS: Record<string, string> = {
  '.cargo/bin': '.rustup',
  '.pyenv/shims': '.pyenv',
  '.pyenv/bin': '.pyenv',
  '.rbenv/shims': '.rbenv',
  '.asdf/shims': '.asdf',
  '.volta/bin': '.volta',
  '.local/share/mise/shims': '.local/share/mise',
};

const companions = (folder: string, home: string): string[] =>
  Object.entries(COMPANIONS).flatMap(([shims, root]) =>
    folder === join(home, shims) && existsSync(join(home, root)) ? [join(home, root)] : [],
  );

function linkTarget(path: string): string | null {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return null; // the path is not a link, or is missing
  }
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // the file is missing
  }
}

/** Finds the interpreter in a script's first line: `#!/usr/bin/env -S node --flag` means node in PATH. */
function interpreterOf(file: string, { PATH = '' }: Surroundings): string | null {
  const [program = '', ...rest] = /^#![ \t]*(.*)/.exec(beginningOf(file))?.[1]?.split(/\s+/) ?? [];
  if (basename(program) !== 'env') return program.startsWith('/') ? program : null;
  const name = rest.find(word => !word.startsWith('-') && !word.includes('='));
  const found = name === undefined || PATH === '' ? null : findExecutable(name, { path: PATH, cwd: '/' });
  return found?.status === 'found' ? found.path : null;
}

function beginningOf(file: string): string {
  try {
    const descriptor = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(256);
      return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return ''; // an unreadable file counts as a program without an interpreter
  }
}
