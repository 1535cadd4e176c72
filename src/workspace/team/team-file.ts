import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Part } from '../../core/team/team-markdown.ts';
import { folderNamed, resolveInside } from '../files/paths.ts';
import { readSmallFile } from '../files/text-file.ts';

/** The folder of a workspace that Squad may write in; null when nobody ran `squad init` there. */
export async function teamFolder(workspace: string): Promise<string | null> {
  const place = await resolveInside(workspace, join(workspace, '.squad'));
  if ('missing' in place) return null;
  if ('outside' in place) throw new Error('.squad is a symbolic link out of the workspace');
  if ('fault' in place) throw new Error(`.squad ${place.fault}`);
  return (await infoOf(place.real))?.isDirectory() ? place.real : null;
}

/** Where the log and the state of a workspace without `.squad` are kept: its name for people, a hash so that two stay apart. */
export const homeTeamFolder = (home: string, workspace: string): string =>
  folderNamed(join(home, TEAM), basename(workspace), workspace);

const TEAM = 'team';

/** Removes what is kept in the home for workspaces other than these. */
export async function dropHomeTeamFolders(home: string, workspaces: readonly string[]): Promise<void> {
  const known = new Set(workspaces.map(workspace => basename(homeTeamFolder(home, workspace))));
  for (const name of await readdir(join(home, TEAM)).catch(() => []))
    if (!known.has(name)) await rm(join(home, TEAM, name), { recursive: true, force: true });
}

/** Of paths from a repository's root, one character for each byte, those that are not kept up to date by Squad itself; `workspace` is a path from there too. */
export function withoutTeamFiles<T extends { path: string }>(entries: readonly T[], workspace: string): T[] {
  const ours = ['IAC.md', 'CONTEXT.md'].map(name =>
    Buffer.from(join(workspace, '.squad', name)).toString('latin1'),
  );
  return entries.filter(({ path }) => !ours.includes(path));
}

/** The text of a file of ours, or null when there is none; what is not UTF-8 in it cannot be shown. */
export async function readTeamFile(file: string): Promise<string | null> {
  return (await readTeamBytes(file))?.toString('utf8') ?? null;
}

/** People edit it, with whatever they have: no byte of theirs may be lost. A link or anything else that is no plain file is not touched. */
export async function readTeamBytes(file: string): Promise<Buffer | null> {
  const info = await infoOf(file);
  if (info === null) return null;
  if (!info.isFile()) throw new Error(info.isSymbolicLink() ? 'is a symbolic link' : 'is not a regular file');
  const read = await readSmallFile(file);
  if ('fault' in read) throw new Error(read.fault);
  return 'bytes' in read ? read.bytes : null;
}

/** Whole or not at all, with the mode the file had. */
export async function replaceTeamFile(file: string, bytes: Buffer): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
  const mode = (await infoOf(file))?.mode;
  try {
    const handle = await open(draft, 'wx', 0o666);
    try {
      if (mode !== undefined) await handle.chmod(mode & 0o777);
      await handle.writeFile(bytes);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (thrown) {
    await rm(draft, { force: true }).catch(() => {}); // the first error says why
    throw thrown;
  }
}

/** At the end, in one write, so that another hub's lines cannot come in between. */
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

async function infoOf(file: string): Promise<Stats | null> {
  return lstat(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR') return null;
    throw thrown;
  });
}

/** `stamp` is another one whenever the file may have changed. */
type TeamText = (Part & { stamp: string }) | { missing: true } | { fault: string };

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
  const place = await resolveInside(folder, dirname(join(folder, path)));
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
