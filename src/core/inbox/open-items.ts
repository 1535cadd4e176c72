import { EventEmitter, once } from 'node:events';
import type { Clock } from '../../base/clock.ts';
import { nearest, oneLine, visibleText } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { InboxId, RunId } from '../../schema/ids.ts';
import { type InboxItem, whoAnswered, whyWithdrawn } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import type { Store } from '../ports/store.ts';
import { MAX_LINE_LENGTH } from '../runs/descendants.ts';

/** The open items, in memory, and who is notified of them. */
export class OpenItems {
  private readonly items = new Map<InboxId, InboxItem>();
  /** Emits the id of an item when it is closed. */
  private readonly closed = new EventEmitter().setMaxListeners(0);
  private readonly listeners = new Set<(item: InboxItem) => void>();
  private readonly notified = new Map<InboxId, Set<string>>();
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

  /** Asked by these runs or their descendants. */
  below(runIds: readonly RunId[]): InboxItem[] {
    const wanted = new Set(runIds);
    return this.list().filter(({ runId }) => this.isBelow(runId, wanted));
  }

  add(item: InboxItem): void {
    this.items.set(item.id, item);
    for (const listener of [...this.listeners]) listener(item);
  }

  remove(item: InboxItem): void {
    this.items.delete(item.id);
    this.notified.delete(item.id);
    this.closed.emit(item.id, item);
  }

  /** Resolves with the closed item; with null when the signal fires first. */
  untilClosed(id: InboxId, signal: AbortSignal): Promise<InboxItem | null> {
    return once(this.closed, id, { signal }).then(
      ([item]: InboxItem[]) => item!,
      () => null,
    );
  }

  onAsked(listener: (item: InboxItem) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** False: they were notified before, or the item is closed. */
  notify(id: InboxId, whom: string): boolean {
    if (!this.items.has(id) || this.isNotified(id, whom)) return false;
    this.notified.set(id, (this.notified.get(id) ?? new Set()).add(whom));
    return true;
  }

  isNotified(id: InboxId, whom: string): boolean {
    return this.notified.get(id)?.has(whom) === true;
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

export interface DeliveryPorts {
  clock: Clock;
  store: Pick<Store, 'commit'>;
  warn(message: string, cause: unknown): void;
  /** Called between the steps of a delivery, by name. */
  checkpoint(name: string): void;
}

/** After a hub died while delivering an answer, for this long an equal question counts as the same one. */
const ASKED_AGAIN_MS = 120_000;

/** Answers on their way to the run that asked. That one arrived is known when the run continues: until then it may ask again. */
export class DeliveredAnswers {
  private readonly ports: DeliveryPorts;
  private readonly items = new Map<RunId, Map<InboxId, InboxItem>>();
  private readonly openedAt: { wall: number; monotonic: number };

  constructor(ports: DeliveryPorts) {
    this.ports = ports;
    this.openedAt = { wall: ports.clock.now(), monotonic: ports.clock.monotonic() };
  }

  add(item: InboxItem): void {
    const items = this.items.get(item.runId) ?? new Map<InboxId, InboxItem>();
    this.items.set(item.runId, items.set(item.id, item));
    this.ports.checkpoint('inbox:handed');
  }

  /** The run continues, so it has its answers. Never rejects. */
  async markResumed(runId: RunId): Promise<void> {
    const items = [...(this.items.get(runId)?.values() ?? [])];
    if (items.length === 0) return;
    this.items.delete(runId);
    const heardAt = this.ports.clock.now();
    await this.ports.store
      .commit({ inbox: items.map(item => ({ ...item, heardAt })), events: [] })
      .catch(thrown => this.ports.warn(`Could not record that ${runId} has its answers`, thrown));
    this.ports.checkpoint('inbox:heard');
  }

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

/** How it was closed, as the rest of a sentence. */
function describeClosing({ state, answer, answeredBy, withdrawnBecause }: InboxItem): string {
  const text = answer === null ? 'nothing' : `"${oneLine(visibleText(answer), 200)}"`;
  if (state === 'withdrawn') return `was withdrawn: ${whyWithdrawn(withdrawnBecause)}`;
  if (state === 'declined') return `was declined by ${whoAnswered(answeredBy)}`;
  if (state === 'expired') return `was not answered in time; its default was ${text}`;
  return `was already answered with ${text} by ${whoAnswered(answeredBy)}`;
}

export const full = (runId: RunId, most: number): SquadError =>
  new SquadError(
    'INBOX_FULL',
    `Run ${runId} has ${most} questions open; it cannot ask more until some are answered`,
    {
      suggestions: ['Ask with the { id } of an open question to wait for its answer, or continue without.'],
    },
  );

/** `found`: items whose ids begin with it; `others`: all candidates. */
export function unknownItem(
  given: string,
  found: readonly InboxItem[],
  others: readonly InboxItem[],
): SquadError {
  if (found.length > 1)
    return new SquadError(
      'INBOX_UNKNOWN',
      `${oneLine(visibleText(given), 60)} matches several ids: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}`,
      { suggestions: ['Give more characters of the id.'] },
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
            : '`squad inbox --all` lists all questions.',
      ],
    },
  );
}
