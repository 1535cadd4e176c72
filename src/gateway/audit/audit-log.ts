import { type Clock, realTimers, type Timers } from '../../base/clock.ts';
import type { Audit, AuditEntry, AuditFilter, AuditPage, AuditTrail } from '../../core/ports/gateway.ts';
import type { AuditVerdict } from '../../schema/audit.ts';
import { SquadError } from '../../schema/error.ts';
import {
  type AuditDisk,
  auditDisk,
  closeFiles,
  currentFile,
  fieldsOf,
  type Link,
  type LogFiles,
  lineAfter,
  olderFile,
  openFiles,
  readHead,
  recoverEnd,
  repair,
  START,
  writeHead,
} from './audit-files.ts';
import { readAudit, verifyAudit } from './read-audit.ts';

const FILE_BYTES = 64 * 1024 * 1024;
const WRITE_BYTES = 256 * 1024;
/** Time in which entries are collected before they are written together. */
const GATHER_MS = 25;
/** Time until a written entry is synced, unless the entry is urgent. */
const SYNC_MS = 1000;
const RETRY_MS = 500;
/** Maximum size of the queued entries while the disk is too slow or fails. */
const HELD_BYTES = 16 * 1024 * 1024;

export interface AuditLogOptions {
  folder: string;
  clock: Clock;
  warn(message: string): void;
  disk?: AuditDisk;
  timers?: Timers;
  /** Size from which a file is rotated. */
  fileBytes?: number;
}

/** An entry without a line number yet. */
interface Queued {
  at: number;
  fields: string;
  /** True if the entry must survive a power failure, so that it is synced when it is written. */
  isUrgent: boolean;
}

type Timer = 'gather' | 'sync' | 'retry';

/**
 * Appends entries as hash-chained lines. Only one write runs at a time: it opens the log if necessary, writes the
 * queue, and syncs when a sync is due. Lines stay in memory until they are synced. After a failure they are written
 * again from the last synced position: the same bytes at the same place, so that no line is there twice or in part.
 */
export class AuditLog implements Audit, AuditTrail {
  readonly #options: AuditLogOptions;
  readonly #disk: AuditDisk;
  readonly #path: string;
  /** Functions that cancel the timers. */
  readonly #timers = new Map<Timer, () => void>();
  #files: LogFiles | null = null;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  /** Chained lines that follow `#syncedSize`; the first `#writtenPieces` of them are written. */
  #unsynced: Buffer[] = [];
  #unsyncedBytes = 0;
  #writtenPieces = 0;
  #syncedSize = 0;
  #writtenSize = 0;
  /** True if a failed write may have left bytes beyond `#writtenSize`. */
  #mayBeLonger = false;
  /** `#link` is the chain position after the last chained line, `#synced` after the last line known to be on disk. */
  #link: Link = START;
  #synced: Link = START;
  #isUrgent = false;
  /** True if the current file was renamed. The next write starts a new file. */
  #isRotated = false;
  #mayRotate = true;
  #dropped = 0;
  #fault: SquadError | null = null;
  #turns: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#disk = options.disk ?? auditDisk;
    this.#path = currentFile(options.folder);
  }

  append(entry: AuditEntry): void {
    if (this.#closing) throw auditClosed();
    if (this.#queuedBytes + this.#unsyncedBytes > HELD_BYTES) {
      this.#dropped += 1;
      throw this.#fault ?? auditUnavailable(this.#path, 'the disk is too slow for the number of entries');
    }
    // The entry is queued even if the log fails at the moment, because its action may already have happened.
    this.#queue.push(this.#queued(entry));
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
    await this.#flushForReading();
    return verifyAudit(this.#options.folder, this.#files ? this.#synced : undefined);
  }

  async entries(filter: AuditFilter): Promise<AuditPage> {
    await this.#flushForReading();
    return readAudit(this.#options.folder, filter);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Writes what can be written and ignores errors, because only callers of `append` get them. */
  #flushForReading(): Promise<void> {
    return this.flush().catch(() => {});
  }

  #next(mustSync: boolean): Promise<void> {
    const turn = this.#turns.then(() => this.#turn(mustSync));
    this.#turns = turn.catch(() => {});
    return turn;
  }

  async #turn(mustSync: boolean): Promise<void> {
    this.#cancel('gather');
    this.#cancel('retry');
    try {
      const files = this.#files ?? (await this.#open());
      if (files) await this.#writeQueue(files);
      if (!this.#files || this.#link === this.#synced) this.#cancel('sync');
      else if (mustSync || this.#isUrgent) await this.#sync(this.#files, false);
      else this.#after('sync', SYNC_MS, true);
    } catch (thrown) {
      throw this.#failed(thrown);
    }
    this.#succeeded();
  }

  /** Opens the files of the log. Null if no entry waits and no file exists, because then no file is created. */
  async #open(): Promise<LogFiles | null> {
    const { folder, warn } = this.#options;
    if (this.#queue.length === 0 && (await this.#disk.stat(this.#path)) === null) return null;
    const files = await openFiles(this.#disk, folder);
    try {
      const { link, size, repairs } = await recoverEnd(
        this.#disk,
        folder,
        files.file,
        await readHead(files.head),
      );
      await writeHead(files.head, { ...link, isLast: false });
      // The incomplete line is cut off as the last step. If an earlier step fails, the next attempt finds the same
      // state.
      if (size < (await files.file.size())) await files.file.truncate(size);
      this.#syncedSize = this.#writtenSize = size;
      this.#link = this.#synced = link;
      for (const { name } of repairs) warn(`The audit log ${this.#path}: ${name}`);
      this.#queue.unshift(...repairs.map(entry => this.#queued(entry)));
    } catch (thrown) {
      await closeFiles(files).catch(() => {}); // the caller gets only the first error
      throw thrown;
    }
    this.#files = files;
    return files;
  }

  /** Entries that arrive during this turn are written in the next one. */
  async #writeQueue(files: LogFiles): Promise<void> {
    let open = await this.#write(files);
    for (let left = this.#queue.length; left > 0; ) {
      left -= this.#chain(left);
      open = await this.#write(open);
      if (this.#writtenSize < (this.#options.fileBytes ?? FILE_BYTES)) continue;
      await this.#sync(open, false);
      await this.#rotate(open);
    }
  }

  /** Numbers and chains at most `most` queued entries, and no more than fit into one write. Returns how many. */
  #chain(most: number): number {
    const lines: string[] = [];
    for (let bytes = 0; lines.length < most && bytes < WRITE_BYTES; ) {
      const { at, fields, isUrgent } = this.#queue[lines.length]!;
      const { line, link } = lineAfter(this.#link, at, fields);
      this.#link = link;
      this.#isUrgent ||= isUrgent;
      this.#queuedBytes -= fields.length;
      bytes += line.length;
      lines.push(line);
    }
    this.#queue.splice(0, lines.length);
    const piece = Buffer.from(lines.join(''));
    this.#unsynced.push(piece);
    this.#unsyncedBytes += piece.length;
    return lines.length;
  }

  /** Writes every chained line. Returns the open files, which differ from those given if somebody replaced them. */
  async #write(open: LogFiles): Promise<LogFiles> {
    if (this.#writtenPieces === this.#unsynced.length) return open;
    const files = await this.#checkPlace(open);
    try {
      for (; this.#writtenPieces < this.#unsynced.length; this.#writtenPieces++) {
        const piece = this.#unsynced[this.#writtenPieces]!;
        for (let at = 0; at < piece.length; ) {
          const taken = await files.file.write(piece.subarray(at), this.#writtenSize);
          if (taken === 0) throw new Error('the disk does not accept more data');
          at += taken;
          this.#writtenSize += taken;
        }
      }
    } catch (thrown) {
      this.#startOver();
      throw thrown;
    }
    this.#mayBeLonger = false;
    return files;
  }

  /** Syncs every written line, then records the new end in the head file. */
  async #sync({ file, head }: LogFiles, isLast: boolean): Promise<void> {
    const link = this.#link;
    this.#cancel('sync');
    try {
      await file.datasync();
    } catch (thrown) {
      // Entries are written again after a failed sync. The system may have dropped the data, and would not report that
      // twice.
      this.#startOver();
      throw thrown;
    }
    this.#syncedSize = this.#writtenSize;
    this.#forgetWritten();
    await writeHead(head, { ...link, isLast });
    this.#synced = link;
    this.#isUrgent = false;
  }

  /** Renames the full file. The next write starts a new one. */
  async #rotate({ file }: LogFiles): Promise<void> {
    if (!this.#mayRotate) return;
    const first = /^\{"seq":([1-9][0-9]{0,15}),/.exec((await file.read(0, 64)).toString())?.[1];
    const older = first === undefined ? null : olderFile(this.#options.folder, Number(first));
    // A file with the new name is not replaced: Squad did not write it, and verification reports it.
    if (older === null || (await this.#disk.stat(older))) {
      this.#mayRotate = false;
      this.#options.warn(
        `Cannot rotate the audit log: ${older ?? 'a name for the full file'} is not free. Logging continues in the same file.`,
      );
      return;
    }
    await this.#disk.rename(this.#path, older);
    this.#isRotated = true;
  }

  /**
   * Another program may have moved, replaced, cut or extended the file. Logging then continues at the end of the file,
   * and the break stays visible.
   */
  async #checkPlace(files: LogFiles): Promise<LogFiles> {
    const found = await this.#disk.stat(this.#path);
    if (found?.inode !== files.file.inode) return this.#reopen(files);
    const longest = this.#writtenSize + (this.#mayBeLonger ? this.#unsyncedBytes : 0);
    if (found.size >= this.#writtenSize && found.size <= longest) return files;
    this.#options.warn(
      `${this.#path} was changed by another program: ${found.size} bytes where ${this.#writtenSize} were written`,
    );
    this.#forgetWritten();
    this.#syncedSize = this.#writtenSize = found.size;
    return files;
  }

  async #reopen(before: LogFiles): Promise<LogFiles> {
    const files = await openFiles(this.#disk, this.#options.folder);
    if (!this.#isRotated)
      this.#options.warn(`${this.#path} was removed or replaced: logging continues in a new file`);
    await closeFiles(before).catch(() => {}); // the old file is no longer the log, so errors are ignored
    this.#isRotated = false;
    this.#files = files;
    this.#writtenPieces = 0;
    this.#syncedSize = this.#writtenSize = await files.file.size();
    return files;
  }

  /** Makes the next write start at the last synced position again. */
  #startOver(): void {
    this.#writtenSize = this.#syncedSize;
    this.#writtenPieces = 0;
    this.#mayBeLonger = true;
  }

  #forgetWritten(): void {
    for (const { length } of this.#unsynced.splice(0, this.#writtenPieces)) this.#unsyncedBytes -= length;
    this.#writtenPieces = 0;
  }

  #queued(entry: AuditEntry): Queued {
    const fields = fieldsOf(entry);
    this.#queuedBytes += fields.length;
    const isUrgent = entry.decision === 'denied' || entry.kind === 'approval' || entry.kind === 'repair';
    return { at: this.#options.clock.now(), fields, isUrgent };
  }

  #succeeded(): void {
    if (this.#fault) this.#options.warn(`The audit log ${this.#path} can be written again`);
    this.#fault = null;
    if (this.#dropped > 0) {
      const text = `${this.#dropped} entries were lost, because the disk did not accept them`;
      this.#queue.push(this.#queued(repair(text)));
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
    await this.#next(true).catch(() => {}); // the error is reported below
    for (const timer of [...this.#timers.keys()]) this.#cancel(timer);
    try {
      if (this.#fault) throw this.#fault;
      if (this.#files) await this.#sync(this.#files, true);
    } catch (thrown) {
      this.#options.warn(`The end of the audit log ${this.#path} is lost: ${(thrown as Error).message}`);
    }
    if (this.#files) await closeFiles(this.#files).catch(() => {}); // every line that could be written is written
  }

  #after(timer: Timer, ms: number, mustSync: boolean): void {
    if (this.#timers.has(timer)) return;
    const act = () => {
      this.#timers.delete(timer);
      this.#next(mustSync).catch(() => {}); // `#failed` reports the error
    };
    this.#timers.set(timer, (this.#options.timers ?? realTimers).after(ms, act));
  }

  #cancel(timer: Timer): void {
    this.#timers.get(timer)?.();
    this.#timers.delete(timer);
  }
}

function auditUnavailable(path: string, cause: unknown): SquadError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SquadError(
    'AUDIT_UNAVAILABLE',
    `Cannot write the audit log ${path} (${why}). Agents cannot use other MCP servers until it can be written.`,
    {
      cause,
      suggestions: [
        'Free some disk space, or fix what keeps the file from being written. Squad retries by itself; no entry is lost.',
      ],
    },
  );
}

const auditClosed = () =>
  new SquadError('AUDIT_UNAVAILABLE', 'The audit log is closed: the hub is stopping', {
    suggestions: ['Try again: Squad starts a new hub when it is needed.'],
  });
