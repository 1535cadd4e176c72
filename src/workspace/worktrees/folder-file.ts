import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, readlink, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openRegular } from '../../process/output/regular-file.ts';

const MAX_BYTES = 8 * 1024 * 1024;

/** What is in a work tree's folder under a path, links not followed. */
export type FolderFile =
  | { kind: 'none' }
  | { kind: 'file' | 'link'; bytes: Buffer; isExecutable: boolean }
  /** A pipe, a socket: nothing of it could be kept. */
  | { kind: 'other' }
  | { kind: 'folder'; isEmpty: boolean }
  /** Not to be touched, for this reason. */
  | { kind: 'barred'; why: string };

export async function readFolderFile(root: string, path: string): Promise<FolderFile> {
  const parents = path.split('/').slice(0, -1);
  for (let depth = 1; depth <= parents.length; depth++) {
    const parent = await found(join(root, ...parents.slice(0, depth)));
    if (!parent) return { kind: 'none' };
    if (!parent.isDirectory())
      return { kind: 'barred', why: `${parents.slice(0, depth).join('/')} is not a folder there` };
  }
  const file = join(root, path);
  const info = await found(file);
  if (!info) return { kind: 'none' };
  if (info.isDirectory()) return { kind: 'folder', isEmpty: (await readdir(file)).length === 0 };
  if (info.isSymbolicLink())
    return { kind: 'link', bytes: await readlink(file, 'buffer'), isExecutable: false };
  if (!info.isFile()) return { kind: 'other' };
  if (info.size > MAX_BYTES) return { kind: 'barred', why: `it is larger than ${MAX_BYTES} bytes` };
  const handle = await openRegular(file);
  // Changed under our eyes: whoever compares later sees that.
  if (!handle) return { kind: 'other' };
  const bytes = await handle.readFile().finally(() => handle.close());
  return { kind: 'file', bytes, isExecutable: (info.mode & 0o100) !== 0 };
}

export const sameFile = (one: FolderFile, other: FolderFile): boolean =>
  one.kind === other.kind && (!('bytes' in one) || ('bytes' in other && one.bytes.equals(other.bytes)));

/** What is to be in its place; null: nothing. */
export type NewFile = { bytes: Buffer; isLink: boolean; isExecutable: boolean } | null;

export interface StagedFile {
  /** A rename: it is there whole or not at all, and a link in its place is replaced, not followed. */
  put(): Promise<void>;
  discard(): Promise<void>;
}

/** Everything that can fail for want of room or rights is done before the moment it is to be there. */
export async function stageFile(root: string, path: string, file: NewFile): Promise<StagedFile> {
  const target = join(root, path);
  if (!file) return { put: () => removeFile(target), discard: async () => {} };
  const folder = dirname(target);
  await mkdir(folder, { recursive: true });
  const staged = join(folder, `.${basename(target)}.squad-${randomBytes(6).toString('hex')}`);
  if (file.isLink) await symlink(file.bytes, staged);
  else {
    const handle = await open(staged, 'wx', file.isExecutable ? 0o777 : 0o666);
    await handle.writeFile(file.bytes).finally(() => handle.close());
  }
  return {
    async put() {
      // Git has no empty folders, so nobody's work is in one.
      await rmdir(target).catch(() => {});
      await rename(staged, target);
    },
    discard: () => rm(staged, { force: true }),
  };
}

async function removeFile(target: string): Promise<void> {
  const info = await found(target);
  if (info && !info.isDirectory()) await rm(target, { force: true });
}

const found = (path: string) =>
  lstat(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR') return null;
    throw thrown;
  });
