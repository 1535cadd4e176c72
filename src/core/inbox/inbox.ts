import { Alarms } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { NewEvent } from '../../schema/event.ts';
import { type InboxId, newInboxId, type RunId } from '../../schema/ids.ts';
import { type AnsweredBy, type InboxItem, NO, type WithdrawnBecause } from '../../schema/inbox.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { InboxFilter, Store } from '../ports/store.ts';
import { Deadlines } from '../runs/turn-limits.ts';
import { answerText } from './answer.ts';
import { type Ask, defaultOf, isSame, wordingOf } from './ask.ts';
import {
  alreadyClosed,
  DeliveredAnswers,
  full,
  type HandedOutPorts,
  OpenItems,
  unknownItem,
} from './open-items.ts';

const MINUTE = 60_000;

/**
 * Until when an answer is waited for. Never as long as the asker's own turn may take: it must still be told, and do something
 * with it.
 */
export function deadlineOf(
  { minutes }: Pick<Ask, 'minutes'>,
  settings: HubSettings,
  /** Milliseconds that the asker's turn has left; null: nothing ends it. */
  turnLeft: number | null,
  now: number,
): number {
  const usual = settings['inbox.timeout_minutes'];
  const wanted = now + (usual === 0 ? 0 : (minutes ?? usual)) * MINUTE;
  if (turnLeft === null) return wanted;
  const left = Math.max(0, turnLeft);
  return Math.round(Math.min(wanted, now + Math.max(left - MINUTE, left / 2)));
}

interface InboxPorts extends HandedOutPorts {
  store: Store;
  settings(): HubSettings;
  /** The run as it is now, if it has not ended. */
  current(id: RunId): Run | null;
  /** Milliseconds that its turn has left; null: nothing ends it. */
  timeLeft(id: RunId): number | null;
}

/** An agent that asks without end is not one that waits for answers. */
const MAX_OPEN_OF_RUN = 20;
/** Of a run, the newest that are looked through for an answer it did not hear. */
const LOOKED_THROUGH = 100;
const ALL_ITEMS = 100_000;
const AGAIN_MS = 5_000;

/** What agents want of somebody else, from the question to the answer or whatever comes in its place. All of it is on disk. */
export class Inbox {
  private readonly ports: InboxPorts;
  private readonly opened: OpenItems;
  private readonly queue = new KeyedQueue<InboxId | RunId>();
  private readonly alarms: Alarms<InboxId>;
  private readonly deadlines: Deadlines<InboxId>;
  private readonly handed: DeliveredAnswers;

  constructor(ports: InboxPorts) {
    this.ports = ports;
    this.handed = new DeliveredAnswers(ports);
    this.opened = new OpenItems(ports.current);
    this.alarms = new Alarms(ports.clock, id => this.expire(id));
    this.deadlines = new Deadlines(ports.clock);
    // What is on disk is what counts, and whoever else hears of an event finds it so.
    ports.store.onEvents(events => {
      for (const { body, runId } of events)
        if (body.type === 'inbox.asked') this.keep(body.item);
        else if (body.type === 'inbox.settled') this.letGo(body.item);
        else if (body.type === 'run.ended' && runId !== null) {
          if (body.status === 'completed') void this.wentOn(runId);
          this.handed.forget(runId);
          this.onEnd(runId);
        }
    });
  }

  /**
   * What the run asks, open from now on. The same question again is that item: still open, or answered and never heard. Throws
   * INVALID_INPUT, INVALID_TEXT, ANSWER_INVALID (of the default) and INBOX_FULL.
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
      // It may have ended while that was written.
      if (!this.ports.current(run.id)) this.onEnd(run.id);
      return item;
    });
  }

  /** Throws ANSWER_INVALID, INVALID_TEXT, ALREADY_ANSWERED and INBOX_UNKNOWN. Of several who answer, the first is heard. */
  answer(id: InboxId, said: string, by: AnsweredBy): Promise<InboxItem> {
    return this.settleOpen(id, item => ({
      state: 'answered',
      answer: answerText(item, said),
      answeredBy: by,
    }));
  }

  /** The person who was asked will not answer: a no to whatever takes one. Throws ALREADY_ANSWERED and INBOX_UNKNOWN. */
  decline(id: InboxId, by: AnsweredBy): Promise<InboxItem> {
    return this.settleOpen(id, ({ kind, fields }) =>
      kind === 'question' && fields.length === 0
        ? { state: 'declined', answeredBy: by }
        : { state: 'answered', answer: NO, answeredBy: by },
    );
  }

  /** Nobody waits for it any more. */
  withdraw(id: InboxId, because: WithdrawnBecause): Promise<void> {
    return this.ifOpen(id, { state: 'withdrawn', withdrawnBecause: because });
  }

  /** Settles with the item once it is settled; with null when the signal fires before. Throws INBOX_UNKNOWN. */
  async untilSettled(id: InboxId, signal: AbortSignal): Promise<InboxItem | null> {
    return this.opened.get(id) ? this.opened.untilSettled(id, signal) : this.stored(id);
  }

  /** What the user is asked by these runs, or by any that came of them. */
  openFor(runIds: readonly RunId[], owner: InboxItem['owner'] = 'user'): InboxItem[] {
    return this.opened.below(runIds).filter(item => item.owner === owner);
  }

  /** Whether somebody hears of an open question for the first time. */
  tell(id: InboxId, whom: string): boolean {
    return this.opened.tell(id, whom);
  }

  isTold(id: InboxId, whom: string): boolean {
    return this.opened.isTold(id, whom);
  }

  /** Called with what is asked from now on. Returns how to stop. */
  onAsked(listener: (item: InboxItem) => void): () => void {
    return this.opened.onAsked(listener);
  }

  /** The asker is told now how it was settled. Whether that arrives is known when it goes on: until then it may ask again. */
  handOut(item: InboxItem): void {
    if (item.state !== 'open') this.handed.add(item);
  }

  /** A run does something else: it has what it was told, and the same question from now on is a new one. Never rejects. */
  wentOn(runId: RunId): Promise<void> {
    return this.handed.wentOn(runId);
  }

  /** Nearest deadline first. */
  open(): InboxItem[] {
    return this.opened.list().sort((a, b) => a.deadlineAt - b.deadlineAt || a.createdAt - b.createdAt);
  }

  /** Oldest first. */
  openOf(runId: RunId): InboxItem[] {
    return this.opened.list().filter(item => item.runId === runId);
  }

  /** By its id or any beginning of it that only one has. Throws INBOX_UNKNOWN. */
  find(given: string): Promise<InboxItem> {
    return this.findAmong(given, {});
  }

  /** The same, of what this run asked. */
  askedBy(runId: RunId, given: string): Promise<InboxItem> {
    return this.findAmong(given, { runId });
  }

  /** The same, of what this run was asked. */
  owned(owner: RunId, given: string): Promise<InboxItem> {
    return this.findAmong(given, { owner });
  }

  /** Newest first, whatever became of them. */
  list(filter: Omit<InboxFilter, 'idPrefix' | 'state'>): Promise<InboxItem[]> {
    return this.ports.store.inboxItems(filter);
  }

  /** What an earlier hub left open: whose run is gone is withdrawn, whose time is up expires, the rest waits on. */
  async recover(): Promise<void> {
    const items = await this.ports.store.inboxItems({ state: 'open', limit: ALL_ITEMS });
    for (const item of items.toReversed()) this.keep(item);
    for (const item of items) {
      // The call of a server that asked broke off with that hub.
      const isOfServer = item.source !== null && item.kind !== 'permission';
      if (!this.ports.current(item.runId)) await this.withdraw(item.id, 'run_ended');
      else if (isOfServer) await this.withdraw(item.id, 'hub_ended');
      else if (item.owner !== 'user' && !this.ports.current(item.owner)) await this.handOver(item.id);
    }
  }

  async close(): Promise<void> {
    this.alarms.close();
    await this.queue.idle();
  }

  private async findAmong(given: string, whose: { runId?: RunId; owner?: RunId }): Promise<InboxItem> {
    const { store } = this.ports;
    const letters = given.trim().toLowerCase().replace(/^ask_/, '');
    const found = /^[0-9a-z]{1,10}$/.test(letters)
      ? await store.inboxItems({ ...whose, idPrefix: `ask_${letters}`, limit: 5 })
      : [];
    const [item] = found;
    if (item && found.length === 1) return this.opened.get(item.id) ?? item;
    throw unknownItem(given, found, await store.inboxItems({ ...whose, limit: 200 }));
  }

  private async askedBefore(runId: RunId, wording: ReturnType<typeof wordingOf>): Promise<InboxItem | null> {
    const open = this.openOf(runId).find(item => isSame(item, wording));
    if (open) return open;
    const earlier = await this.ports.store.inboxItems({ runId, isSettled: true, limit: LOOKED_THROUGH });
    return (
      earlier.find(
        item => item.state !== 'withdrawn' && isSame(item, wording) && this.handed.mayNotHaveArrived(item),
      ) ?? null
    );
  }

  /** The run that started it, if that can answer. Who is reviewed cannot: it has no turn meanwhile. */
  private leadOf({ parentId, reviewOf }: Run): RunId | null {
    const lead = parentId === null || reviewOf !== null ? null : this.ports.current(parentId);
    return lead && !isEnd(lead.status) && lead.options.spawn ? lead.id : null;
  }

  private expire(id: InboxId): void {
    const item = this.opened.get(id);
    if (!item) return;
    this.ifOpen(id, unanswered(item)).catch(thrown => {
      this.ports.warn(`That ${id} is past its deadline could not be recorded`, thrown);
      if (this.opened.get(id)) this.alarms.set(id, AGAIN_MS);
    });
  }

  private onEnd(runId: RunId): void {
    const left = this.opened.list().filter(item => item.runId === runId || item.owner === runId);
    for (const { id, runId: asker } of left) {
      const done = asker === runId ? this.withdraw(id, 'run_ended') : this.handOver(id);
      done.catch(thrown => this.ports.warn(`What ${runId} left in the inbox could not be seen to`, thrown));
    }
  }

  /** The run that was to answer it is gone: it is the user's now. */
  private handOver(id: InboxId): Promise<void> {
    return this.queue.run(id, async () => {
      const item = this.opened.get(id);
      if (!item || item.owner === 'user') return;
      await this.write({ ...item, owner: 'user' }, 'inbox.asked');
    });
  }

  private ifOpen(id: InboxId, patch: Partial<InboxItem>): Promise<void> {
    return this.queue.run(id, async () => {
      const item = this.opened.get(id);
      if (item) await this.settle(item, patch);
    });
  }

  private settleOpen(id: InboxId, patchOf: (item: InboxItem) => Partial<InboxItem>): Promise<InboxItem> {
    return this.queue.run(id, async () => {
      const item = this.opened.get(id);
      if (!item) throw alreadyClosed(await this.stored(id));
      // The alarm may be late: the machine was busy.
      if (this.timeLeft(item) <= 0) throw alreadyClosed(await this.settle(item, unanswered(item)));
      return this.settle(item, patchOf(item));
    });
  }

  private async settle(item: InboxItem, patch: Partial<InboxItem>): Promise<InboxItem> {
    const settled: InboxItem = { ...item, ...patch, answeredAt: this.ports.clock.now() };
    await this.write(settled, 'inbox.settled');
    return settled;
  }

  private keep(item: InboxItem): void {
    this.alarms.set(item.id, this.timeLeft(item));
    this.opened.keep(item);
  }

  private timeLeft({ id, createdAt, deadlineAt }: InboxItem): number {
    return this.deadlines.left(id, { from: createdAt, until: deadlineAt });
  }

  private letGo(item: InboxItem): void {
    this.alarms.set(item.id, null);
    this.deadlines.forget(item.id);
    this.opened.letGo(item);
  }

  private write(item: InboxItem, type: 'inbox.asked' | 'inbox.settled'): Promise<void> {
    const { runId, squadId } = item;
    const told: NewEvent = { at: this.ports.clock.now(), runId, squadId, body: { type, item } };
    return this.ports.store.commit({ inbox: [item], events: [told] });
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
