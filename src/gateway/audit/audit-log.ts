import type { Clock } from '../../base/clock.ts';
import type { AuditFilter, AuditPage, AuditTrail } from '../../core/ports/audit-trail.ts';
import type { Audit, AuditEntry } from '../../core/ports/gateway.ts';
import type { AuditVerdict } from '../../schema/audit.ts';
import type { SquadError } from '../../schema/error.ts';
import { realTimers, type Timers } from '../timers.ts';
import { type Link, START } from './audit-chain.ts';
import { type AuditDisk, auditDisk } from './audit-disk.ts';
import { AuditEnd } from './audit-end.ts';
import { currentFile } from './audit-files.ts';
import { AuditQueue } from './audit-queue.ts';
import { repair } from './audit-recovery.ts';
import { auditClosed, auditUnavailable } from './audit-unavailable.ts';
import { readAudit } from './read-audit.ts';
import { verifyAudit } from './verify-audit.ts';

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
