import type { Clock } from '../../base/clock.ts';
import type { Audit, AuditEntry, AuditFilter, AuditPage, AuditTrail } from '../../core/ports/gateway.ts';
import type { AuditVerdict } from '../../schema/audit.ts';
import { SquadError } from '../../schema/error.ts';
import { realTimers, type Timers } from '../timers.ts';
import { fieldsOf, type Link, lineAfter, START } from './audit-chain.ts';
import {
  type AuditDisk,
  auditDisk,
  currentFile,
  type DiskFile,
  type Head,
  headFile,
  olderFile,
  type Recovered,
  readHead,
  recoverEnd,
  repair,
  writeHead,
} from './audit-files.ts';
import { readAudit, verifyAudit } from './read-audit.ts';

/**
 * The end of the log on disk. Whatever has not been synced is kept and, after any failure, written again from the last place
 * that was: the same bytes at the same positions, so that nothing is there twice or in part.
 */
class AuditEnd {
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

const WRITE_BYTES = 256 * 1024;

interface Taken {
  at: number;
  fields: string;
  isUrgent: boolean;
}

/** Lines for one write. */
interface Lines {
  bytes: Buffer;
  /** After the last of them. */
  link: Link;
  count: number;
  /** One of them may not be lost to a power cut. */
  isUrgent: boolean;
}

/** Entries that were taken and have no number yet. */
class AuditQueue {
  readonly #clock: Clock;
  #entries: Taken[] = [];
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get length(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(entry: AuditEntry): void {
    this.#entries.push(this.#taken(entry));
  }

  addFirst(entries: AuditEntry[]): void {
    this.#entries = entries.map(entry => this.#taken(entry)).concat(this.#entries);
  }

  /** At most `most` of them, and no more than one write should have. */
  chain(after: Link, most: number): Lines {
    const lines: string[] = [];
    let link = after;
    let isUrgent = false;
    for (let bytes = 0; lines.length < most && bytes < WRITE_BYTES; ) {
      const taken = this.#entries[lines.length]!;
      const next = lineAfter(link, taken.at, taken.fields);
      link = next.link;
      isUrgent ||= taken.isUrgent;
      bytes += next.line.length;
      this.#bytes -= taken.fields.length;
      lines.push(next.line);
    }
    this.#entries.splice(0, lines.length);
    return { bytes: Buffer.from(lines.join('')), link, count: lines.length, isUrgent };
  }

  #taken(entry: AuditEntry): Taken {
    const fields = fieldsOf(entry);
    this.#bytes += fields.length;
    const isUrgent = entry.decision === 'denied' || entry.kind === 'approval' || entry.kind === 'repair';
    return { at: this.#clock.now(), fields, isUrgent };
  }
}

function auditUnavailable(path: string, cause: unknown): SquadError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SquadError(
    'AUDIT_UNAVAILABLE',
    `The audit log ${path} cannot be written (${why}): until it can, agents get nothing of other servers`,
    {
      cause,
      suggestions: [
        'Free some space, or mend what keeps the file from being written. It is tried again by itself; what was taken before is not lost.',
      ],
    },
  );
}

const auditClosed = () =>
  new SquadError('AUDIT_UNAVAILABLE', 'The audit log is closed: the hub is stopping', {
    suggestions: ['Try again: a new hub is started on first use.'],
  });

export interface AuditLogOptions {
  folder: string;
  clock: Clock;
  warn(message: string): void;
  disk?: AuditDisk;
  timers?: Timers;
  /** A file that has grown beyond this is put aside. */
  fileBytes?: number;
}

export interface AuditLog extends Audit, AuditTrail {
  close(): Promise<void>;
}

export const openAuditLog = (options: AuditLogOptions): AuditLog => new ChainedLog(options);

const FILE_BYTES = 64 * 1024 * 1024;
/** How long entries are gathered for one write. */
const GATHER_MS = 25;
/** How long written entries may stay with the system before they are forced out, if none of them is urgent. */
const SYNC_MS = 1000;
const RETRY_MS = 500;
/** Of entries that wait for a disk that is too slow, or does not work. */
const HELD_BYTES = 16 * 1024 * 1024;

type Timer = 'gather' | 'sync' | 'retry';

/** One turn at a time opens the log if need be, writes what waits, and syncs when that is due. */
class ChainedLog implements AuditLog {
  readonly #options: AuditLogOptions;
  readonly #disk: AuditDisk;
  readonly #path: string;
  readonly #queue: AuditQueue;
  /** How to call each off. */
  readonly #timers = new Map<Timer, () => void>();
  #end: AuditEnd | null = null;
  /** Of the last line that was made, and of the last one known to be on disk. */
  #link: Link = START;
  #synced: Link = START;
  #isUrgent = false;
  #heldBytes = 0;
  #dropped = 0;
  #fault: SquadError | null = null;
  #turns: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#disk = options.disk ?? auditDisk;
    this.#path = currentFile(options.folder);
    this.#queue = new AuditQueue(options.clock);
  }

  append(entry: AuditEntry): void {
    if (this.#closing) throw auditClosed();
    if (this.#queue.bytes + this.#heldBytes > HELD_BYTES) {
      this.#dropped += 1;
      throw this.#fault ?? auditUnavailable(this.#path, 'the disk is too slow for all there is to write');
    }
    // Kept even if it is not taken: it may be about something that was already done.
    this.#queue.add(entry);
    this.check();
    this.#after('gather', GATHER_MS, false);
  }

  check(): void {
    if (this.#closing) throw auditClosed();
    if (this.#fault) throw this.#fault;
  }

  flush(): Promise<void> {
    return this.#closing ?? this.#next(true);
  }

  async verify(): Promise<AuditVerdict> {
    await this.#settle();
    return verifyAudit(this.#options.folder, this.#end ? this.#synced : undefined);
  }

  async entries(filter: AuditFilter): Promise<AuditPage> {
    await this.#settle();
    return readAudit(this.#options.folder, filter);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Before reading: what can be read is what could be written. A fault is told to those who append. */
  #settle(): Promise<void> {
    return this.flush().catch(() => {});
  }

  #next(mustSync: boolean): Promise<void> {
    const turn = this.#turns.then(() => this.#turn(mustSync));
    this.#turns = turn.catch(() => {});
    return turn;
  }

  async #turn(mustSync: boolean): Promise<void> {
    this.#forget('gather');
    this.#forget('retry');
    try {
      const end = this.#end ?? (await this.#open());
      if (end) await this.#write(end);
      if (!end || this.#link === this.#synced) this.#forget('sync');
      else if (mustSync || this.#isUrgent) await this.#sync(end, false);
      else this.#after('sync', SYNC_MS, true);
      this.#works();
    } catch (thrown) {
      throw this.#failed(thrown);
    } finally {
      this.#heldBytes = this.#end?.heldBytes ?? 0;
    }
  }

  /** Null: there is nothing to write and nothing was ever written, so that there need not be a file. */
  async #open(): Promise<AuditEnd | null> {
    if (this.#queue.length === 0 && (await this.#disk.stat(this.#path)) === null) return null;
    const { end, link, repairs } = await AuditEnd.open(this.#disk, this.#options.folder, this.#options.warn);
    this.#end = end;
    this.#link = this.#synced = link;
    for (const { name } of repairs) this.#options.warn(`The audit log ${this.#path}: ${name}`);
    this.#queue.addFirst(repairs);
    return end;
  }

  /** What is there now; what comes meanwhile has its own turn. */
  async #write(end: AuditEnd): Promise<void> {
    await end.write();
    for (let left = this.#queue.length; left > 0; ) {
      const { bytes, link, count, isUrgent } = this.#queue.chain(this.#link, left);
      left -= count;
      this.#link = link;
      this.#isUrgent ||= isUrgent;
      end.add(bytes);
      await end.write();
      if (end.size < (this.#options.fileBytes ?? FILE_BYTES)) continue;
      await this.#sync(end, false);
      await end.rotate();
    }
  }

  async #sync(end: AuditEnd, isLast: boolean): Promise<void> {
    const link = this.#link;
    this.#forget('sync');
    await end.sync({ ...link, isLast });
    this.#synced = link;
    this.#isUrgent = false;
  }

  #works(): void {
    if (this.#fault) this.#options.warn(`The audit log ${this.#path} can be written again`);
    this.#fault = null;
    if (this.#dropped > 0) {
      this.#queue.add(repair(`${this.#dropped} entries could not be kept while the disk did not take them`));
      this.#dropped = 0;
    }
    if (this.#queue.length > 0 && !this.#closing) this.#after('gather', GATHER_MS, false);
  }

  #failed(thrown: unknown): SquadError {
    const isNew = this.#fault === null;
    this.#fault = auditUnavailable(this.#path, thrown);
    if (isNew) this.#options.warn(this.#fault.message);
    if (!this.#closing) this.#after('retry', RETRY_MS, true);
    return this.#fault;
  }

  async #close(): Promise<void> {
    await this.#next(true).catch(() => {}); // told below
    for (const timer of [...this.#timers.keys()]) this.#forget(timer);
    try {
      if (this.#fault) throw this.#fault;
      if (this.#end) await this.#sync(this.#end, true);
    } catch (thrown) {
      this.#options.warn(`The end of the audit log ${this.#path} is lost: ${(thrown as Error).message}`);
    }
    await this.#end?.close().catch(() => {}); // everything that could be written is
  }

  #after(timer: Timer, ms: number, mustSync: boolean): void {
    if (this.#timers.has(timer)) return;
    const act = () => {
      this.#timers.delete(timer);
      this.#next(mustSync).catch(() => {}); // told by `#failed`
    };
    this.#timers.set(timer, (this.#options.timers ?? realTimers).after(ms, act));
  }

  #forget(timer: Timer): void {
    this.#timers.get(timer)?.();
    this.#timers.delete(timer);
  }
}
