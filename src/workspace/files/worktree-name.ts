import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

const LONGEST = 40;

/** `squad/<name>/<run>`, with whatever git allows in a branch left of the name. */
export function branchOf(name: string, runId: string): string {
  return `squad/${refSafe(name) || 'agent'}/${runId}`;
}

function refSafe(name: string): string {
  return plain(name)
    .replaceAll(/\.{2,}/g, '.')
    .replace(/(\.lock)+$/i, '')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
}

/** Where the work trees of a repository are kept: its name for people, a hash so that two of one name stay apart. */
export function folderFor(folder: string, commonDir: string): string {
  const own = basename(commonDir) === '.git' ? basename(dirname(commonDir)) : basename(commonDir);
  return folderNamed(folder, own.replace(/\.git$/, '') || 'repository', commonDir);
}

export function folderNamed(folder: string, name: string, path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const shown = plain(name).replaceAll(/^[.-]+|[.-]+$/g, '');
  return join(folder, `${shown || 'repository'}-${hash}`);
}

/** No blanks either: many a build breaks in a folder with one. */
const plain = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .slice(0, LONGEST)
    .toWellFormed()
    .replaceAll('\uFFFD', '');
