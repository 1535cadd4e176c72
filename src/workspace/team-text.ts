import { type BigIntStats, constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { realPlace } from './real-place.ts';

/** `stamp` is another one whenever the file may have changed. */
export type TeamText = { text: string; stamp: string } | { missing: true } | { fault: string };

/** A file of the team, inside its folder: never through a link, never more than so many bytes, never waiting on a pipe. */
export async function readTeamText(folder: string, path: string, most: number): Promise<TeamText> {
  const place = await realPlace(folder, dirname(join(folder, path)));
  if ('missing' in place) return { missing: true };
  if (!('real' in place)) return { fault: 'fault' in place ? place.fault : 'lies outside the workspace' };
  const file = join(place.real, basename(path));
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const info = await handle.stat({ bigint: true });
      if (!info.isFile()) return { fault: 'is not a regular file' };
      if (info.size > most) return { fault: `is ${info.size} bytes; at most ${most} are read` };
      // What is not UTF-8 in it cannot be shown, and is no reason to show nothing.
      return { text: new TextDecoder().decode(await handle.readFile()), stamp: stampOf(info) };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    return faultOf(thrown);
  }
}

/** The stamp that reading the file now would give; null when there is none to read. */
export async function stampOfFile(file: string): Promise<string | null> {
  return lstat(file, { bigint: true }).then(stampOf, () => null);
}

const stampOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ');

function faultOf(thrown: unknown): TeamText {
  const { code } = thrown as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
  // With O_NOFOLLOW this is what a link gives; some systems say EMLINK.
  if (code === 'ELOOP' || code === 'EMLINK')
    return { fault: 'is a symbolic link, and those are not followed' };
  if (code === 'EACCES' || code === 'EPERM') return { fault: 'cannot be read: permission denied' };
  return { fault: `cannot be read: ${code ?? String(thrown)}` };
}
