import type { Clock } from '../../base/clock.ts';
import type { AuditEntry } from '../../core/ports/gateway.ts';
import { fieldsOf, type Link, lineAfter } from './audit-chain.ts';

const WRITE_BYTES = 256 * 1024;

interface Taken {
  at: number;
  fields: string;
  isUrgent: boolean;
}

/** Lines for one write. */
export interface Lines {
  bytes: Buffer;
  /** After the last of them. */
  link: Link;
  count: number;
  /** One of them may not be lost to a power cut. */
  isUrgent: boolean;
}

/** Entries that were taken and have no number yet. */
export class AuditQueue {
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
