import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The few things the audit log does with files, so that a test can make any one of them fail. */
export interface AuditDisk {
  /** For reading and writing; the file and its folder are made if they are not there, for the user only. */
  open(path: string): Promise<DiskFile>;
  /** Null: not there. */
  stat(path: string): Promise<{ size: number; inode: number } | null>;
  /** Empty when there is no such folder. */
  list(folder: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
}

export interface DiskFile {
  inode: number;
  size(): Promise<number>;
  /** As many of the bytes as there are. */
  read(position: number, length: number): Promise<Buffer>;
  /** Returns how many were taken: a disk that fills up takes some. */
  write(bytes: Buffer, position: number): Promise<number>;
  truncate(size: number): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

export const auditDisk: AuditDisk = {
  async open(path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = (await auditDisk.stat(path)) === null;
    // Not for appending: there the system ignores positions, and what failed half way could not be written over.
    const handle = await open(path, isNew ? 'wx+' : 'r+', 0o600);
    if (isNew) await syncFolder(dirname(path));
    return {
      inode: (await handle.stat()).ino,
      size: async () => (await handle.stat()).size,
      async read(position, length) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
        return buffer.subarray(0, bytesRead);
      },
      write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
      truncate: size => handle.truncate(size),
      datasync: () => handle.datasync(),
      close: () => handle.close(),
    };
  },
  async stat(path) {
    const found = await stat(path).catch(nullIfMissing);
    return found && { size: found.size, inode: found.ino };
  },
  list: async folder => (await readdir(folder).catch(nullIfMissing)) ?? [],
  async rename(from, to) {
    await rename(from, to);
    await syncFolder(dirname(to));
  },
};

/** Or a file that is new, or has a new name, may be gone after a power cut with everything in it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function nullIfMissing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === 'ENOENT') return null;
  throw thrown;
}
