import type { AuditDisk, DiskFile } from './audit-disk.ts';
import { currentFile, headFile, olderFile } from './audit-files.ts';
import { type Head, readHead, writeHead } from './audit-head.ts';
import { type Recovered, recoverEnd } from './audit-recovery.ts';

/**
 * The end of the log on disk. Whatever has not been synced is kept and, after any failure, written again from the last place
 * that was: the same bytes at the same positions, so that nothing is there twice or in part.
 */
export class AuditEnd {
  readonly #disk: AuditDisk;
  readonly #folder: string;
  readonly #warn: (message: string) => void;
  #file: DiskFile;
  #head: DiskFile;
  /** Positions: synced up to, written up to, and as far as a write that failed may have come. */
  #synced: number;
  #written: number;
  #reached: number;
  /** From `#synced` on; the first `#done` of them are written. */
  #pieces: Buffer[] = [];
  #done = 0;
  #hasMoved = false;
  #mayRotate = true;

  private constructor(
    disk: AuditDisk,
    folder: string,
    warn: (message: string) => void,
    files: { file: DiskFile; head: DiskFile; size: number },
  ) {
    this.#disk = disk;
    this.#folder = folder;
    this.#warn = warn;
    this.#file = files.file;
    this.#head = files.head;
    this.#synced = this.#written = this.#reached = files.size;
  }

  static async open(
    disk: AuditDisk,
    folder: string,
    warn: (message: string) => void,
  ): Promise<{ end: AuditEnd } & Omit<Recovered, 'size'>> {
    const opened: DiskFile[] = [];
    try {
      const file = await disk.open(currentFile(folder));
      opened.push(file);
      const head = await disk.open(headFile(folder));
      opened.push(head);
      const { link, size, repairs } = await recoverEnd(disk, folder, file, await readHead(head));
      await writeHead(head, { ...link, isLast: false });
      // Last: should anything before it fail, the next try finds the same.
      if (size < (await file.size())) await file.truncate(size);
      return { end: new AuditEnd(disk, folder, warn, { file, head, size }), link, repairs };
    } catch (thrown) {
      for (const each of opened) await each.close().catch(() => {}); // why it failed is told by what was thrown
      throw thrown;
    }
  }

  get size(): number {
    return this.#written;
  }

  get heldBytes(): number {
    return this.#pieces.reduce((sum, { length }) => sum + length, 0);
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
  }

  /** Everything that was added. */
  async write(): Promise<void> {
    if (this.#done === this.#pieces.length) return;
    await this.#findPlace();
    try {
      for (; this.#done < this.#pieces.length; this.#done++) await this.#put(this.#pieces[this.#done]!);
    } catch (thrown) {
      this.#startOver();
      throw thrown;
    }
  }

  /** On disk for good, and the head says so. */
  async sync(head: Head): Promise<void> {
    try {
      await this.#file.datasync();
    } catch (thrown) {
      // The system may have dropped what it could not write, and would not say so twice.
      this.#startOver();
      throw thrown;
    }
    this.#synced = this.#written;
    this.#pieces.splice(0, this.#done);
    this.#done = 0;
    await writeHead(this.#head, head);
  }

  /** The next write begins a new file. */
  async rotate(): Promise<void> {
    if (!this.#mayRotate) return;
    const first = /^\{"seq":([1-9][0-9]{0,15}),/.exec((await this.#file.read(0, 64)).toString())?.[1];
    const older = first === undefined ? null : olderFile(this.#folder, Number(first));
    // What is in the way is not ours to replace, and verifying will say what is wrong with it.
    if (older === null || (await this.#disk.stat(older))) {
      this.#mayRotate = false;
      this.#warn(
        `${older ?? 'A name for the full file'} is not free: the audit log goes on in the same file`,
      );
      return;
    }
    await this.#disk.rename(currentFile(this.#folder), older);
    this.#hasMoved = true;
  }

  async close(): Promise<void> {
    await Promise.all([this.#file.close(), this.#head.close()]);
  }

  async #put(piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.length; ) {
      this.#reached = Math.max(this.#reached, this.#written + piece.length - at);
      const taken = await this.#file.write(piece.subarray(at), this.#written);
      if (taken === 0) throw new Error('the disk takes no more');
      at += taken;
      this.#written += taken;
    }
  }

  #startOver(): void {
    this.#written = this.#synced;
    this.#done = 0;
  }

  /** Somebody else may have moved, replaced, cut or lengthened the file: then we go on at its end, and the break stays visible. */
  async #findPlace(): Promise<void> {
    const path = currentFile(this.#folder);
    const found = await this.#disk.stat(path);
    if (found?.inode !== this.#file.inode) return this.#reopen();
    if (found.size >= this.#written && found.size <= this.#reached) return;
    this.#warn(
      `${path} was changed by somebody else: ${found.size} bytes where ${this.#written} were written`,
    );
    this.#pieces.splice(0, this.#done);
    this.#done = 0;
    this.#synced = this.#written = this.#reached = found.size;
  }

  async #reopen(): Promise<void> {
    const path = currentFile(this.#folder);
    const file = await this.#disk.open(path);
    const head = await this.#disk.open(headFile(this.#folder));
    if (!this.#hasMoved)
      this.#warn(`${path} was taken away or replaced: the audit log goes on in a new file`);
    await this.close().catch(() => {}); // it is not the log any more
    this.#hasMoved = false;
    this.#file = file;
    this.#head = head;
    this.#done = 0;
    this.#synced = this.#written = this.#reached = await file.size();
  }
}
