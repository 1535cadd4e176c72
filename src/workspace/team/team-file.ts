import { constants } from 'node:fs';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nullIfMissing } from '../../base/missing-file.ts';
import type { Part } from '../../core/team/team-markdown.ts';
import { readFully } from '../../process/output/regular-file.ts';
import { folderNamed, resolveInside } from '../files/paths.ts';
import { readSmallFile, replaceFile } from '../files/text-file.ts';

/** The `.squad` folder of a workspace. Null if it has none. */
export async function teamFolder(workspace: string): Promise<string | null> {
  const place = await resolveInside(workspace, join(workspace, '.squad'));
  if ('missing' in place) return null;
  if ('outside' in place) throw new Error('.squad is a symbolic link out of the workspace');
  if ('fault' in place) throw new Error(`.squad ${place.fault}`);
  return (await lstat(place.real).catch(nullIfMissing))?.isDirectory() ? place.real : null;
}

/** Folder for the log and the state of a workspace without `.squad`. */
export const homeTeamFolder = (home: string, workspace: string): string =>
  folderNamed(join(home, TEAM), basename(workspace), workspace);

const TEAM = 'team';

/** Removes the folders of all workspaces except these. */
export async function dropHomeTeamFolders(home: string, workspaces: readonly string[]): Promise<void> {
  const known = new Set(workspaces.map(workspace => basename(homeTeamFolder(home, workspace))));
  for (const name of await readdir(join(home, TEAM)).catch(() => []))
    if (!known.has(name)) await rm(join(home, TEAM, name), { recursive: true, force: true });
}

/**
 * Leaves out files that Squad itself writes. All paths are relative to the root of the repository. Paths of entries
 * have one character per byte.
 */
export function withoutTeamFiles<T extends { path: string }>(entries: readonly T[], workspace: string): T[] {
  const ours = ['IAC.md', 'CONTEXT.md'].map(name =>
    Buffer.from(join(workspace, '.squad', name)).toString('latin1'),
  );
  return entries.filter(({ path }) => !ours.includes(path));
}

/** Reads text. Bytes that are not UTF-8 become replacement characters. */
export async function readTeamFile(file: string): Promise<string | null> {
  return (await readTeamBytes(file))?.toString('utf8') ?? null;
}

/**
 * Reads the exact bytes, because people may have edited the file in any encoding. Throws if it is a link or not a
 * regular file.
 */
export async function readTeamBytes(file: string): Promise<Buffer | null> {
  const info = await lstat(file).catch(nullIfMissing);
  if (info === null) return null;
  if (!info.isFile()) throw new Error(info.isSymbolicLink() ? 'is a symbolic link' : 'is not a regular file');
  const read = await readSmallFile(file);
  if ('fault' in read) throw new Error(read.fault);
  return 'bytes' in read ? read.bytes : null;
}

/** Replaces the file and keeps its permissions. */
export const replaceTeamFile = (file: string, bytes: Buffer): Promise<void> =>
  replaceFile(file, bytes, { mode: 0o666, keepsMode: true });

/** Appends in one write, so that no line of another hub comes in between. */
export async function appendTeamFile(file: string, bytes: Buffer): Promise<void> {
  const handle = await open(
    file,
    constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    await handle.appendFile(bytes);
  } finally {
    await handle.close();
  }
}

type TeamText = Part | { missing: true } | { fault: string };

/**
 * Reads at most this many bytes of a file in the team's folder. Follows no link and never blocks on a pipe.
 * `ofLonger` says which part of a longer file is read.
 */
export async function readTeamText(
  folder: string,
  path: string,
  most: number,
  ofLonger: 'nothing' | 'beginning' | 'end' = 'nothing',
): Promise<TeamText> {
  const place = await resolveInside(folder, dirname(join(folder, path)));
  if ('missing' in place) return { missing: true };
  if (!('real' in place)) return { fault: 'fault' in place ? place.fault : 'lies outside the workspace' };
  const file = join(place.real, basename(path));
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const info = await handle.stat();
      if (!info.isFile()) return { fault: 'is not a regular file' };
      const { size } = info;
      if (size > most && ofLonger === 'nothing')
        return { fault: `is ${size} bytes; at most ${most} are read` };
      const from = ofLonger === 'end' ? Math.max(0, size - most) : 0;
      const bytes = await readFully(handle, Buffer.allocUnsafe(Math.min(size, most)), from);
      // Bytes that are not UTF-8 are shown as replacement characters.
      return { text: new TextDecoder().decode(bytes), isCut: size > most };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    return faultOf(thrown);
  }
}

/** Returns a text that differs whenever the file may have changed. Null if there is no file. */
export const stampOfFile = (file: string): Promise<string | null> =>
  lstat(file, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(' '),
    () => null,
  );

function faultOf(thrown: unknown): TeamText {
  const { code } = thrown as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
  // Opening a link with O_NOFOLLOW fails with ELOOP, on some systems with EMLINK.
  if (code === 'ELOOP' || code === 'EMLINK') return { fault: 'is a symbolic link, which is not followed' };
  if (code === 'EACCES' || code === 'EPERM') return { fault: 'cannot be read: permission denied' };
  return { fault: `cannot be read: ${code ?? String(thrown)}` };
}
