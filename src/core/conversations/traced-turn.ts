import type { Run } from '../../schema/run.ts';

/** What is known to be stored of the messages of one turn, by their positions in it. */
export class TracedTurn {
  readonly run: Run;
  readonly number: number;
  readonly saved = new Set<number>();
  /** On their way to the store. */
  readonly pending = new Set<number>();
  /** Something of it was let go, and has to be read again. */
  isMissing = false;
  /** All of its output was read by this hub. */
  isRead = false;
  /** Its run has ended. */
  isOver = false;
  private readonly failed = new Set<number>();
  private told = 0;

  constructor(run: Run, number: number) {
    this.run = run;
    this.number = number;
  }

  has(position: number): boolean {
    return this.saved.has(position) || this.pending.has(position);
  }

  /** True once for each. */
  isNews(position: number): boolean {
    if (position < this.told) return false;
    this.told = position + 1;
    return true;
  }

  settled(position: number, isSaved: boolean): void {
    this.pending.delete(position);
    if (isSaved) this.saved.add(position);
    else this.isMissing = true;
  }

  /** True once for each. */
  failsFirst(position: number): boolean {
    if (this.failed.has(position)) return false;
    this.failed.add(position);
    return true;
  }
}
