import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

type RealPlace = { real: string } | { missing: true } | { outside: true } | { fault: string };

/** Resolves the links in a path, and checks that the result is inside the folder. */
export async function resolveInside(folder: string, path: string): Promise<RealPlace> {
  try {
    const [real, around] = await Promise.all([realpath(path), realpath(folder)]);
    return isInside(around, real) ? { real } : { outside: true };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
    if (code === 'ELOOP') return { fault: 'is a symbolic link that leads to itself' };
    return { fault: `cannot be read: ${code ?? String(thrown)}` };
  }
}

/** Whether a path is inside a folder. Compares only the texts and resolves no links. */
export function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`);
}

/** Resolves links in the part of a path that exists. */
export async function resolveExistingPart(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await resolveExistingPart(dirname(path)), basename(path));
  }
}

const ESCAPES: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
const UNUSUAL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]/u;

/** Path for display, from its bytes (one character each). Paths with unusual characters are quoted as git does. */
export function pathText(bytes: string): string {
  const text = pathArgument(bytes);
  if (text !== null && !UNUSUAL.test(text)) return text;
  return `"${[...(text ?? bytes)].map(each => escaped(each, text !== null)).join('')}"`;
}

/** Path as an argument for a program. Null if it is not valid UTF-8. */
export function pathArgument(bytes: string): string | null {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  return Buffer.from(text, 'utf8').equals(buffer) ? text : null;
}

export const pathBytes = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);

/** Joins paths (one character per byte) into input for git's `-z --stdin`. */
export const joinPaths = (paths: readonly string[]): Buffer =>
  Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1');

/** Splits the output of git's `-z` into paths, one character per byte. */
export const splitPaths = (output: Buffer): string[] => output.toString('latin1').split('\0').slice(0, -1);

function escaped(character: string, isText: boolean): string {
  const known = ESCAPES[character];
  if (known) return known;
  const isPlain = isText ? !UNUSUAL.test(character) : character >= ' ' && character <= '~';
  if (isPlain) return character;
  const bytes = Buffer.from(character, isText ? 'utf8' : 'latin1');
  return [...bytes].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

const MAX_NAME_LENGTH = 40;

/** Branch name `squad/<name>/<run>`, without characters that git does not allow in a branch. */
export function branchOf(name: string, runId: string): string {
  return `squad/${refSafe(name) || 'agent'}/${runId}`;
}

function refSafe(name: string): string {
  return plain(name)
    .replaceAll(/\.{2,}/g, '.')
    .replace(/(\.lock)+$/i, '')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
}

/**
 * Folder for the work trees of a repository. Its name contains the repository's name for people, and a hash that
 * distinguishes repositories of the same name.
 */
export function folderFor(folder: string, commonDir: string): string {
  const own = basename(commonDir) === '.git' ? basename(dirname(commonDir)) : basename(commonDir);
  return folderNamed(folder, own.replace(/\.git$/, '') || 'repository', commonDir);
}

export function folderNamed(folder: string, name: string, path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const shown = plain(name).replaceAll(/^[.-]+|[.-]+$/g, '');
  return join(folder, `${shown || 'repository'}-${hash}`);
}

/** Also removes spaces, because many builds break in a folder whose path has spaces. */
const plain = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .slice(0, MAX_NAME_LENGTH)
    .toWellFormed()
    .replaceAll('\uFFFD', '');
