import { EventEmitter, once } from 'node:events';
import { Alarms, type Clock } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { NewEvent } from '../../schema/event.ts';
import { type InboxId, newInboxId, type RunId } from '../../schema/ids.ts';
import { type AnsweredBy, type InboxItem, NO, type WithdrawnBecause } from '../../schema/inbox.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { InboxFilter, Store } from '../ports/store.ts';
import { MAX_LINE_LENGTH } from '../runs/descendants.ts';
import { Deadlines } from '../runs/turn-limits.ts';
import { alreadyClosed, answerText, unknownItem } from './answer.ts';
import { type Ask, defaultOf, isSame, wordingOf } from './ask.ts';

const MINUTE = 60_000;

/** Deadline of an item. Always before the end of the asker's turn, so that the run can still use the answer. */
export function deadlineOf(
  { minutes }: Pick<Ask, 'minutes'>,
  settings: HubSettings,
  /** Milliseconds left in the asker's turn. Null if there is no limit. */
  turnLeft: number | null,
  now: number,
): number {
  const usual = settings['inbox.timeout_minutes'];
  const wanted = now + (usual === 0 ? 0 : (minutes ?? usual)) * MINUTE;
  if (turnLeft === null) return wanted;
  const left = Math.max(0, turnLeft);
  return Math.round(Math.min(wanted, now + Math.max(left - MINUTE, left / 2)));
}

interface InboxPorts extends DeliveryPorts {
  store: Store;
  settings(): HubSettings;
  /** The run's current state. Null if it has ended. */
  current(id: RunId): Run | null;
  /** Milliseconds left in the run's turn. Null if there is no limit. */
  timeLeft(id: RunId): number | null;
}

const MAX_OPEN_OF_RUN = 20;
/** Maximum number of a run's closed items that are searched for an answer that was not delivered. */
const MAX_SEARCHED = 100;
const ALL_ITEMS = 100_000;
const RETRY_DELAY_MS = 5_000;

/** Questions, approvals and permissions of agents, from asking to closing. Every change is stored on disk. */
export class Inbox {
  private readonly ports: InboxPorts;
  /** The open items, oldest first. */
  private readonly items = new Map<InboxId, InboxItem>();
  /** Emits the id of an item when it is closed. */
  private readonly closed = new EventEmitter().setMaxListeners(0);
  private readonly listeners = new Set<(item: InboxItem) => void>();
  private readonly notified = new Map<InboxId, Set<string>>();
  private readonly queue = new KeyedQueue<InboxId | RunId>();
  private readonly alarms: Alarms<InboxId>;
  private readonly deadlines: Deadlines<InboxId>;
  private readonly delivered: DeliveredAnswers;

  constructor(ports: InboxPorts) {
    this.ports = ports;
    this.delivered = new DeliveredAnswers(ports);
    this.alarms = new Alarms(ports.clock, id => this.expire(id));
    this.deadlines = new Deadlines(ports.clock);
    // Updates the memory from the stored events, before other listeners of the same event read it.
    ports.store.onEvents(events => {
      for (const { body, runId } of events)
        if (body.type === 'inbox.asked') this.add(body.item);
        else if (body.type === 'inbox.settled') this.remove(body.item);
        else if (body.type === 'run.ended' && runId !== null) {
          if (body.status === 'completed') void this.markResumed(runId);
          this.delivered.forget(runId);
          this.onEnd(runId);
        }
    });
  }

  /**
   * Opens an item. For an equal question, returns the earlier item if it is still open, or if its answer was never
   * delivered. Throws INVALID_INPUT, INVALID_TEXT, ANSWER_INVALID (for the default) and INBOX_FULL.
   */
  async ask(ask: Ask): Promise<InboxItem> {
    const wording = wordingOf(ask);
    const { run } = ask;
    const byDefault = defaultOf(ask, wording);
    return this.queue.run(run.id, async () => {
      const known = await this.askedBefore(run.id, wording);
      if (known) return known;
      if (this.openOf(run.id).length >= MAX_OPEN_OF_RUN) throw full(run.id, MAX_OPEN_OF_RUN);
      const now = this.ports.clock.now();
      const item: InboxItem = {
        ...{ id: newInboxId(), runId: run.id, squadId: run.squadId },
        ...wording,
        owner: (ask.to === 'lead' && this.leadOf(run)) || 'user',
        default: byDefault,
        createdAt: now,
        deadlineAt: deadlineOf(ask, this.ports.settings(), this.ports.timeLeft(run.id), now),
        ...{ state: 'open', answer: null, answeredBy: null, answeredAt: null, heardAt: null },
      };
      await this.write(item, 'inbox.asked');
      // The run may have ended during the write.
      if (!this.ports.current(run.id)) this.onEnd(run.id);
      return item;
    });
  }

  /**
   * Answers an item. The first answer counts. Throws ANSWER_INVALID, INVALID_TEXT, ALREADY_ANSWERED and INBOX_UNKNOWN.
   */
  answer(id: InboxId, said: string, by: AnsweredBy): Promise<InboxItem> {
    return this.closeOpen(id, item => ({
      state: 'answered',
      answer: answerText(item, said),
      answeredBy: by,
    }));
  }

  /**
   * Declines an item: the person will not answer. For a yes-or-no question that means no. Throws ALREADY_ANSWERED and
   * INBOX_UNKNOWN.
   */
  decline(id: InboxId, by: AnsweredBy): Promise<InboxItem> {
    return this.closeOpen(id, ({ kind, fields }) =>
      kind === 'question' && fields.length === 0
        ? { state: 'declined', answeredBy: by }
        : { state: 'answered', answer: NO, answeredBy: by },
    );
  }

  /** Withdraws an item, because nobody waits for its answer any more. */
  withdraw(id: InboxId, because: WithdrawnBecause): Promise<void> {
    return this.ifOpen(id, { state: 'withdrawn', withdrawnBecause: because });
  }

  /** Resolves with the item once it is closed, or with null when the signal aborts first. Throws INBOX_UNKNOWN. */
  async untilClosed(id: InboxId, signal: AbortSignal): Promise<InboxItem | null> {
    if (!this.items.has(id)) return this.stored(id);
    return once(this.closed, id, { signal }).then(
      ([item]: InboxItem[]) => item!,
      () => null,
    );
  }

  /** Open items of these runs and their descendants. */
  openFor(runIds: readonly RunId[], owner: InboxItem['owner'] = 'user'): InboxItem[] {
    const wanted = new Set(runIds);
    return [...this.items.values()].filter(item => item.owner === owner && this.isBelow(item.runId, wanted));
  }

  /** Returns whether this is the first notification about an open item for `whom`. */
  notify(id: InboxId, whom: string): boolean {
    if (!this.items.has(id) || this.isNotified(id, whom)) return false;
    this.notified.set(id, (this.notified.get(id) ?? new Set()).add(whom));
    return true;
  }

  isNotified(id: InboxId, whom: string): boolean {
    return this.notified.get(id)?.has(whom) === true;
  }

  /** Calls the listener with every new item. Returns a function that stops it. */
  onAsked(listener: (item: InboxItem) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Delivers the answer to the run that asked. The run has certainly received it only when the run continues. Until
   * then it may ask again.
   */
  deliver(item: InboxItem): void {
    if (item.state !== 'open') this.delivered.add(item);
  }

  /**
   * Called when the run continues, so it has its answers: an equal question is a new one from now on. Never rejects.
   */
  markResumed(runId: RunId): Promise<void> {
    return this.delivered.markResumed(runId);
  }

  /** Open items, nearest deadline first. */
  open(): InboxItem[] {
    return [...this.items.values()].sort((a, b) => a.deadlineAt - b.deadlineAt || a.createdAt - b.createdAt);
  }

  /** Open items of other hubs, as they wrote them. They can only be closed there. */
  openElsewhere(): Promise<InboxItem[]> {
    return this.ports.store.inboxItems({ state: 'open', hubs: 'other', limit: ALL_ITEMS });
  }

  /** Open items of a run, oldest first. */
  openOf(runId: RunId): InboxItem[] {
    return [...this.items.values()].filter(item => item.runId === runId);
  }

  /** Closed items of a run, newest first. */
  closedOf(runId: RunId): Promise<InboxItem[]> {
    return this.ports.store.inboxItems({ runId, isSettled: true, limit: MAX_SEARCHED });
  }

  /** Finds an item of any hub by its id or a unique prefix. Throws INBOX_UNKNOWN. */
  find(given: string): Promise<InboxItem> {
    return this.findAmong(given, { hubs: 'any' });
  }

  /** Like `find`, among the items that this run asked. */
  askedBy(runId: RunId, given: string): Promise<InboxItem> {
    return this.findAmong(given, { runId });
  }

  /** Like `find`, among the items that this run has to answer. */
  owned(owner: RunId, given: string): Promise<InboxItem> {
    return this.findAmong(given, { owner });
  }

  /** Open and closed items, newest first. */
  list(filter: Omit<InboxFilter, 'idPrefix' | 'state'>): Promise<InboxItem[]> {
    return this.ports.store.inboxItems(filter);
  }

  /**
   * Closes items that an earlier hub left open: withdrawn if the run is gone, expired if their deadline has passed. With
   * `of` only items of these runs.
   */
  async recover(of: ReadonlySet<RunId> | null = null): Promise<void> {
    const open = await this.ports.store.inboxItems({ state: 'open', limit: ALL_ITEMS });
    const items = open.filter(({ runId }) => of?.has(runId) ?? true);
    for (const item of items.toReversed()) this.add(item);
    for (const item of items) {
      // The server's call ended with the earlier hub, so nobody waits for the answer.
      const isOfServer = item.source !== null && item.kind !== 'permission' && item.useKey === undefined;
      if (!this.ports.current(item.runId)) await this.withdraw(item.id, 'run_ended');
      else if (isOfServer) await this.withdraw(item.id, 'hub_ended');
      else if (item.owner !== 'user' && !this.ports.current(item.owner)) await this.passToUser(item.id);
    }
  }

  async close(): Promise<void> {
    this.alarms.close();
    await this.queue.idle();
  }

  private async findAmong(
    given: string,
    whose: Pick<InboxFilter, 'runId' | 'owner' | 'hubs'>,
  ): Promise<InboxItem> {
    const { store } = this.ports;
    const letters = given.trim().toLowerCase().replace(/^ask_/, '');
    const found = /^[0-9a-z]{1,10}$/.test(letters)
      ? await store.inboxItems({ ...whose, idPrefix: `ask_${letters}`, limit: 5 })
      : [];
    const [item] = found;
    if (item && found.length === 1) return this.items.get(item.id) ?? item;
    throw unknownItem(given, found, await store.inboxItems({ ...whose, limit: 200 }));
  }

  private async askedBefore(runId: RunId, wording: ReturnType<typeof wordingOf>): Promise<InboxItem | null> {
    const open = this.openOf(runId).find(item => isSame(item, wording));
    if (open) return open;
    const earlier = await this.closedOf(runId);
    return (
      earlier.find(
        item => item.state !== 'withdrawn' && isSame(item, wording) && this.delivered.mayNotHaveArrived(item),
      ) ?? null
    );
  }

  /**
   * The run that started this one, if it can answer. A reviewed run cannot, because it has no turn during the review.
   */
  private leadOf({ parentId, reviewOf }: Run): RunId | null {
    const lead = parentId === null || reviewOf !== null ? null : this.ports.current(parentId);
    return lead && !isEnd(lead.status) && lead.options.spawn ? lead.id : null;
  }

  private isBelow(runId: RunId, wanted: ReadonlySet<RunId>): boolean {
    let above: RunId | null = runId;
    for (let i = 0; above !== null && i < MAX_LINE_LENGTH; i++) {
      if (wanted.has(above)) return true;
      above = this.ports.current(above)?.parentId ?? null;
    }
    return false;
  }

  private expire(id: InboxId): void {
    const item = this.items.get(id);
    if (!item) return;
    this.ifOpen(id, unanswered(item)).catch(thrown => {
      this.ports.warn(`Could not record that ${id} has expired`, thrown);
      if (this.items.get(id)) this.alarms.set(id, RETRY_DELAY_MS);
    });
  }

  private onEnd(runId: RunId): void {
    const left = [...this.items.values()].filter(item => item.runId === runId || item.owner === runId);
    for (const { id, runId: asker } of left) {
      const done = asker === runId ? this.withdraw(id, 'run_ended') : this.passToUser(id);
      done.catch(thrown => this.ports.warn(`Could not close the open questions of ${runId}`, thrown));
    }
  }

  /** Passes an item to the user, because the run that should answer has ended. */
  private passToUser(id: InboxId): Promise<void> {
    return this.queue.run(id, async () => {
      const item = this.items.get(id);
      if (!item || item.owner === 'user') return;
      await this.write({ ...item, owner: 'user' }, 'inbox.asked');
    });
  }

  private ifOpen(id: InboxId, patch: Partial<InboxItem>): Promise<void> {
    return this.queue.run(id, async () => {
      const item = this.items.get(id);
      if (item) await this.closeItem(item, patch);
    });
  }

  private closeOpen(id: InboxId, patchOf: (item: InboxItem) => Partial<InboxItem>): Promise<InboxItem> {
    return this.queue.run(id, async () => {
      const item = this.items.get(id);
      if (!item) throw alreadyClosed(await this.stored(id));
      // The deadline is checked again, because on a busy machine the alarm may be late.
      if (this.timeLeft(item) <= 0) throw alreadyClosed(await this.closeItem(item, unanswered(item)));
      return this.closeItem(item, patchOf(item));
    });
  }

  private async closeItem(item: InboxItem, patch: Partial<InboxItem>): Promise<InboxItem> {
    const closed: InboxItem = { ...item, ...patch, answeredAt: this.ports.clock.now() };
    await this.write(closed, 'inbox.settled');
    return closed;
  }

  private add(item: InboxItem): void {
    this.alarms.set(item.id, this.timeLeft(item));
    this.items.set(item.id, item);
    for (const listener of [...this.listeners]) listener(item);
  }

  private timeLeft({ id, createdAt, deadlineAt }: InboxItem): number {
    return this.deadlines.left(id, { from: createdAt, until: deadlineAt });
  }

  private remove(item: InboxItem): void {
    this.alarms.set(item.id, null);
    this.deadlines.forget(item.id);
    this.items.delete(item.id);
    this.notified.delete(item.id);
    this.closed.emit(item.id, item);
  }

  private write(item: InboxItem, type: 'inbox.asked' | 'inbox.settled'): Promise<void> {
    const { runId, squadId } = item;
    const event: NewEvent = { at: this.ports.clock.now(), runId, squadId, body: { type, item } };
    return this.ports.store.commit({ inbox: [item], events: [event] });
  }

  private async stored(id: InboxId): Promise<InboxItem> {
    const item = await this.ports.store.inboxItem(id);
    if (!item) throw unknownItem(id, [], []);
    return item;
  }
}

const unanswered = (item: InboxItem) =>
  ({
    state: 'expired',
    answer: item.default,
    answeredBy: { who: 'default', via: null },
  }) as const;

const full = (runId: RunId, most: number): SquadError =>
  new SquadError(
    'INBOX_FULL',
    `Run ${runId} has ${most} questions open; it cannot ask more until some are answered`,
    {
      suggestions: [
        'Call again with the `id` of an open question to wait for its answer, or continue without an answer.',
      ],
    },
  );

interface DeliveryPorts {
  clock: Clock;
  store: Pick<Store, 'commit'>;
  warn(message: string, cause: unknown): void;
  /** Called with the name of each step between the parts of a delivery. Tests kill the hub at these points. */
  checkpoint(name: string): void;
}

/**
 * Time after the death of a hub in which an equal question counts as the same one, because the hub may have died while
 * it delivered the answer.
 */
const ASKED_AGAIN_MS = 120_000;

/**
 * Answers that are being delivered to the run that asked. The run has certainly received an answer only when it
 * continues. Until then it may ask again.
 */
class DeliveredAnswers {
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

  /** Records that the agent has received its answers, because it is working again. Never rejects. */
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
