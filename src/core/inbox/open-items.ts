import type { InboxId, RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { LONGEST_LINE } from '../runs/descendants.ts';

/** What is open, in memory, and who wants to hear of it. */
export class OpenItems {
  private readonly items = new Map<InboxId, InboxItem>();
  private readonly waiting = new Map<InboxId, Set<(item: InboxItem) => void>>();
  private readonly listeners = new Set<(item: InboxItem) => void>();
  private readonly told = new Map<InboxId, Set<string>>();
  private readonly current: (id: RunId) => Run | null;

  constructor(current: (id: RunId) => Run | null) {
    this.current = current;
  }

  get(id: InboxId): InboxItem | undefined {
    return this.items.get(id);
  }

  /** Oldest first. */
  list(): InboxItem[] {
    return [...this.items.values()];
  }

  /** Asked by these runs, or by any that came of them. */
  below(runIds: readonly RunId[]): InboxItem[] {
    const wanted = new Set(runIds);
    return this.list().filter(({ runId }) => this.isBelow(runId, wanted));
  }

  keep(item: InboxItem): void {
    this.items.set(item.id, item);
    for (const listener of [...this.listeners]) listener(item);
  }

  letGo(settled: InboxItem): void {
    const { id } = settled;
    this.items.delete(id);
    this.told.delete(id);
    for (const done of [...(this.waiting.get(id) ?? [])]) done(settled);
    this.waiting.delete(id);
  }

  /** Of one that is open: settles with how it was settled, or with null when the signal fires before. */
  untilSettled(id: InboxId, signal: AbortSignal): Promise<InboxItem | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise(settle => {
      const waiting = this.waiting.get(id) ?? new Set();
      this.waiting.set(id, waiting);
      const done = (item: InboxItem | null) => {
        waiting.delete(done);
        signal.removeEventListener('abort', gone);
        settle(item);
      };
      const gone = () => done(null);
      waiting.add(done);
      signal.addEventListener('abort', gone, { once: true });
    });
  }

  onAsked(listener: (item: InboxItem) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Whether that is news to them. */
  tell(id: InboxId, whom: string): boolean {
    if (!this.items.has(id) || this.isTold(id, whom)) return false;
    this.told.set(id, (this.told.get(id) ?? new Set()).add(whom));
    return true;
  }

  isTold(id: InboxId, whom: string): boolean {
    return this.told.get(id)?.has(whom) === true;
  }

  private isBelow(runId: RunId, wanted: ReadonlySet<RunId>): boolean {
    let above: RunId | null = runId;
    for (let i = 0; above !== null && i < LONGEST_LINE; i++) {
      if (wanted.has(above)) return true;
      above = this.current(above)?.parentId ?? null;
    }
    return false;
  }
}
