import type { Clock } from '../../base/clock.ts';
import { nearest, oneLine, visibleText } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { InboxId, RunId } from '../../schema/ids.ts';
import { type InboxItem, whoAnswered, whyWithdrawn } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import type { Store } from '../ports/store.ts';
import { MAX_LINE_LENGTH } from '../runs/descendants.ts';

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
    for (let i = 0; above !== null && i < MAX_LINE_LENGTH; i++) {
      if (wanted.has(above)) return true;
      above = this.current(above)?.parentId ?? null;
    }
    return false;
  }
}

export interface HandedOutPorts {
  clock: Clock;
  store: Pick<Store, 'commit'>;
  warn(message: string, cause: unknown): void;
  /** Called between the steps of telling an asker, by name. */
  checkpoint(name: string): void;
}

/** How long after a hub died with an answer on its way the same words still mean that question. */
const ASKED_AGAIN_MS = 120_000;

/** Settled items on their way to the run that asked. Whether one arrived is known when the run goes on: until then it may ask again. */
export class DeliveredAnswers {
  private readonly ports: HandedOutPorts;
  private readonly items = new Map<RunId, Map<InboxId, InboxItem>>();
  private readonly openedAt: { wall: number; monotonic: number };

  constructor(ports: HandedOutPorts) {
    this.ports = ports;
    this.openedAt = { wall: ports.clock.now(), monotonic: ports.clock.monotonic() };
  }

  add(item: InboxItem): void {
    const items = this.items.get(item.runId) ?? new Map<InboxId, InboxItem>();
    this.items.set(item.runId, items.set(item.id, item));
    this.ports.checkpoint('inbox:handed');
  }

  /** A run does something else: it has what it was told. Never rejects. */
  async wentOn(runId: RunId): Promise<void> {
    const items = [...(this.items.get(runId)?.values() ?? [])];
    if (items.length === 0) return;
    this.items.delete(runId);
    const heardAt = this.ports.clock.now();
    await this.ports.store
      .commit({ inbox: items.map(item => ({ ...item, heardAt })), events: [] })
      .catch(thrown => this.ports.warn(`That ${runId} has its answers could not be recorded`, thrown));
    this.ports.checkpoint('inbox:heard');
  }

  /** The run has ended. */
  forget(runId: RunId): void {
    this.items.delete(runId);
  }

  mayNotHaveArrived({ heardAt }: InboxItem): boolean {
    if (heardAt === null) return true;
    const { wall, monotonic } = this.openedAt;
    const age = wall - heardAt + (this.ports.clock.monotonic() - monotonic);
    return heardAt < wall && age < ASKED_AGAIN_MS;
  }
}

export function alreadyClosed(item: InboxItem): SquadError {
  const { id, state, answer, answeredBy, answeredAt } = item;
  return new SquadError('ALREADY_ANSWERED', `${id} ${describeClosing(item)}`, {
    suggestions: ['Nothing was changed. `reply` to the run, once it has ended, to tell it something else.'],
    details: { id, state, answer, answered_by: answeredBy, answered_at: answeredAt },
  });
}

/** What became of it, as the rest of a sentence. */
function describeClosing({ state, answer, answeredBy, withdrawnBecause }: InboxItem): string {
  const words = answer === null ? 'nothing' : `"${oneLine(visibleText(answer), 200)}"`;
  if (state === 'withdrawn') return `was withdrawn: ${whyWithdrawn(withdrawnBecause)}`;
  if (state === 'declined') return `was declined by ${whoAnswered(answeredBy)}`;
  if (state === 'expired') return `was not answered in time; its default was ${words}`;
  return `was already answered with ${words} by ${whoAnswered(answeredBy)}`;
}

export const full = (runId: RunId, most: number): SquadError =>
  new SquadError(
    'INBOX_FULL',
    `Run ${runId} has ${most} questions open; no more are taken until some are answered`,
    {
      suggestions: ['Ask with the { id } of an open question to wait for its answer, or continue without.'],
    },
  );

/** `found` are several that begin so; `others` all there could be. */
export function unknownItem(
  given: string,
  found: readonly InboxItem[],
  others: readonly InboxItem[],
): SquadError {
  if (found.length > 1)
    return new SquadError(
      'INBOX_UNKNOWN',
      `${oneLine(visibleText(given), 60)} is the beginning of several ids: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}`,
      { suggestions: ['Give more letters.'] },
    );
  const near = nearest(
    given.slice(0, 40),
    others.map(({ id }) => id),
  );
  const open = others.filter(({ state }) => state === 'open').slice(0, 3);
  return new SquadError(
    'INBOX_UNKNOWN',
    `There is no question ${oneLine(visibleText(given), 60) || '(nothing)'}`,
    {
      suggestions: [
        near.length > 0
          ? `Did you mean ${near.join(' or ')}?`
          : open.length > 0
            ? `Open now: ${open.map(({ id, question }) => `${id} (${oneLine(visibleText(question), 60)})`).join(', ')}.`
            : '`squad inbox --all` shows what was asked.',
      ],
    },
  );
}
