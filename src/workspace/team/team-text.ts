import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Part } from '../../core/team/bounds.ts';
import { realPlace } from '../files/real-place.ts';

/** `stamp` is another one whenever the file may have changed. */
export type TeamText = (Part & { stamp: string }) | { missing: true } | { fault: string };

/**
 * A file of the team, inside its folder: never through a link, never more than so many bytes, never waiting on a pipe. Of a
 * longer one either nothing, or what stands at one of its ends.
 */
export async function readTeamText(
  folder: string,
  path: string,
  most: number,
  ofLonger: 'nothing' | 'beginning' | 'end' = 'nothing',
): Promise<TeamText> {
  const place = await realPlace(folder, dirname(join(folder, path)));
  if ('missing' in place) return { missing: true };
  if (!('real' in place)) return { fault: 'fault' in place ? place.fault : 'lies outside the workspace' };
  const file = join(place.real, basename(path));
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const info = await handle.stat({ bigint: true });
      if (!info.isFile()) return { fault: 'is not a regular file' };
      const size = Number(info.size);
      if (size > most && ofLonger === 'nothing')
        return { fault: `is ${size} bytes; at most ${most} are read` };
      const from = ofLonger === 'end' ? Math.max(0, size - most) : 0;
      const bytes = await bytesOf(handle, from, Math.min(size, most));
      // What is not UTF-8 in it cannot be shown, and is no reason to show nothing.
      return { text: new TextDecoder().decode(bytes), isCut: size > most, stamp: stampOf(info) };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    return faultOf(thrown);
  }
}

/** So many at most, also of a file that grows meanwhile. */
async function bytesOf(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, from + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
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
