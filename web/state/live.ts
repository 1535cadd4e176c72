import { batch, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { InboxItem } from '../../src/schema/inbox.ts';
import type { LiveMessage } from '../../src/schema/live.ts';
import type { RunCard } from '../../src/schema/run-card.ts';
import { call, ticket } from './api.ts';
import { Cards } from './cards.ts';
import { distrustHub } from './hub-proof.ts';
import { LiveLine } from './live-line.ts';
import { openItems } from './open-items.ts';
import { type Changes, Pending } from './pending.ts';
import { saved } from './saved.ts';
import { token } from './token.ts';
import { type OutputTarget, WatchedOutputs } from './watched-outputs.ts';

export type { Changes } from './pending.ts';
export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'locked';

/** Time after which changes are shown even in a tab in the background, which gets no animation frames. */
const LATEST_FLUSH_MS = 500;

const state = signal<Connection>('connecting');
const stopped = signal(false);
const seq = signal(0);
const items = signal<InboxItem[]>([]);
const isAsked = signal(false);
const cards = new Cards();
const listeners = new Set<(changes: Changes) => void>();
const pending = new Pending();
const outputs = new WatchedOutputs(message => line?.send(message));
/** Items that arrive while the inbox is being requested. Null if no request is in progress. */
let duringAsk: InboxItem[] | null = null;
let frame = 0;
let latest: ReturnType<typeof setTimeout> | undefined;
let hub: string | null = null;
let line: LiveLine | null = null;

export const connection: ReadonlySignal<Connection> = state;
/** True if the hub announced that it stops and has not come back. Only the user starts it again. */
export const isHubStopped: ReadonlySignal<boolean> = stopped;
export const lastSeq: ReadonlySignal<number> = seq;
/** Open inbox items, earliest deadline first. */
export const inbox: ReadonlySignal<InboxItem[]> = items;
/** False until the first response; before that an empty inbox means nothing. */
export const isInboxKnown: ReadonlySignal<boolean> = isAsked;

export function onChanges(listener: (changes: Changes) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const card = (id: string): Signal<RunCard | undefined> => cards.of(id);

/** Adds the cards of a response, unless newer ones were received over the WebSocket. */
export const addCards = (seen: readonly RunCard[]): void => batch(() => cards.see(seen));

export const watchOutput = (
  target: OutputTarget,
  onGrew: (size: number, isOver: boolean, messages: number) => void,
): (() => void) => outputs.add(target, onGrew);

/** Opens the live connection. Call this once at startup. */
export function goLive(): void {
  if (saved) {
    state.value = 'offline';
    return;
  }
  const made = new LiveLine({ address, onMessage, onBroken });
  line = made;
  effect(() => {
    if (token.value === null) {
      made.stop();
      state.value = 'locked';
    } else {
      if (state.peek() === 'locked') state.value = 'connecting';
      made.start();
    }
  });
}

async function address(): Promise<string> {
  const query = new URLSearchParams({ ticket: await ticket({ purpose: 'live' }) });
  if (seq.peek() > 0) query.set('after', String(seq.peek()));
  return `ws://${location.host}/api/live?${query}`;
}

function onBroken(broken: 'reconnecting' | 'offline', isLeft: boolean): void {
  if (isLeft) stopped.value = true;
  distrustHub();
  cards.distrust();
  if (state.peek() !== 'locked') state.value = broken;
}

function onMessage(message: LiveMessage): void {
  if (message.type === 'hello') onHello(message);
  else if (message.type === 'changes') {
    seq.value = message.last;
    pending.add(message);
    duringAsk?.push(...message.inbox);
    flushSoon();
  } else if (message.type === 'reset') {
    seq.value = message.last;
    reset();
    // Growth of outputs may be among the missed messages, so all outputs are watched again.
    outputs.watchAll();
  } else if (message.type === 'grew') outputs.grew(message, message);
}

function onHello({ version, hubStartedAt, last }: LiveMessage & { type: 'hello' }): void {
  const now = `${version} ${hubStartedAt}`;
  // Data is also reset on the first connection, because data that was requested earlier may have changed before the
  // connection was open.
  if (now !== hub) {
    hub = now;
    seq.value = last;
    reset();
  }
  stopped.value = false;
  state.value = 'live';
  outputs.watchAll();
}

function reset(): void {
  cards.distrust();
  pending.reset();
  void askInbox();
  flushSoon();
}

async function askInbox(): Promise<void> {
  const came: InboxItem[] = [];
  duringAsk = came;
  // The hub is not reachable; the next connection requests the inbox again.
  const answer = await call('list_inbox', { state: 'open' }).catch(() => null);
  if (duringAsk !== came) return;
  duringAsk = null;
  if (answer)
    batch(() => {
      items.value = openItems(answer.items, came);
      isAsked.value = true;
    });
}

function flushSoon(): void {
  if (latest !== undefined) return;
  frame = requestAnimationFrame(flush);
  latest = setTimeout(flush, LATEST_FLUSH_MS);
}

function flush(): void {
  cancelAnimationFrame(frame);
  clearTimeout(latest);
  latest = undefined;
  const changes = pending.take();
  batch(() => {
    cards.tell(changes.runs);
    if (changes.inbox.length > 0) items.value = openItems(items.peek(), changes.inbox);
    for (const listener of listeners) listener(changes);
  });
}
