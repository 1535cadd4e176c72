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

/** While the page is in the background no frame is drawn: not waited for longer than this. */
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
/** What came while the inbox was being asked for; null: it is not. */
let duringAsk: InboxItem[] | null = null;
let frame = 0;
let latest: ReturnType<typeof setTimeout> | undefined;
let hub: string | null = null;
let line: LiveLine | null = null;

export const connection: ReadonlySignal<Connection> = state;
/** It said so when it went, and has not come back: nothing but somebody starts it again. */
export const isHubStopped: ReadonlySignal<boolean> = stopped;
export const lastSeq: ReadonlySignal<number> = seq;
/** Open ones, whose time is up first comes first. */
export const inbox: ReadonlySignal<InboxItem[]> = items;
/** Until then an empty inbox says nothing. */
export const isInboxKnown: ReadonlySignal<boolean> = isAsked;

export function onChanges(listener: (changes: Changes) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const card = (id: string): Signal<RunCard | undefined> => cards.of(id);

/** What an answer says of runs, for whoever shows them; what the live line said since is newer. */
export const seeCards = (seen: readonly RunCard[]): void => batch(() => cards.see(seen));

export const watchOutput = (
  target: OutputTarget,
  onGrew: (size: number, isOver: boolean, messages: number) => void,
): (() => void) => outputs.add(target, onGrew);

/** Once, at the start of the page. */
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
  if (message.type === 'hello') greet(message);
  else if (message.type === 'changes') {
    seq.value = message.last;
    pending.add(message);
    duringAsk?.push(...message.inbox);
    flushSoon();
  } else if (message.type === 'reset') {
    seq.value = message.last;
    reset();
    // How large they are may be among what was not told.
    outputs.sayAll();
  } else if (message.type === 'grew') outputs.grew(message, message);
}

function greet({ version, hubStartedAt, last }: LiveMessage & { type: 'hello' }): void {
  const now = `${version} ${hubStartedAt}`;
  // The first time as well: what was asked for before may have changed before this line was open.
  if (now !== hub) {
    hub = now;
    seq.value = last;
    reset();
  }
  stopped.value = false;
  state.value = 'live';
  outputs.sayAll();
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
  // Out of reach: the next line that opens asks again.
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
