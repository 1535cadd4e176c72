import type { OutputStream } from '../core/ports/run-files.ts';
import type { RunId } from '../schema/ids.ts';
import type { LiveClient } from './live-client.ts';
import { frame } from './live-feed.ts';
import type { WebPorts } from './ports.ts';

export interface Target {
  runId: RunId;
  turn: number;
  stream: OutputStream;
}

interface Watched {
  target: Target;
  /** Each client with the last state it was sent; null: nothing yet. */
  clients: Map<LiveClient, string | null>;
}

type WatchServices = Pick<WebPorts['services'], 'files' | 'runner' | 'traces'>;

const MAX_PER_CLIENT = 8;

/** Notifies clients when an output grows. Sizes are read only while a client watches, once for all clients. */
export class OutputWatches {
  private readonly services: WatchServices;
  private readonly everyMs: number;
  private readonly watched = new Map<string, Watched>();
  private timer: NodeJS.Timeout | null = null;
  private checking: Promise<void> | null = null;

  constructor(services: WatchServices, everyMs: number) {
    this.services = services;
    this.everyMs = everyMs;
  }

  /** Returns false when the client already watches too many outputs. */
  watch(client: LiveClient, target: Target): boolean {
    const key = keyOf(target);
    const entry = this.watched.get(key) ?? { target, clients: new Map() };
    const others = [...this.watched.values()].filter(each => each !== entry && each.clients.has(client));
    if (others.length >= MAX_PER_CLIENT) return false;
    this.watched.set(key, entry);
    entry.clients.set(client, null);
    this.timer ??= setInterval(() => this.check(), this.everyMs).unref();
    this.check();
    return true;
  }

  unwatch(client: LiveClient, target: Target): void {
    this.drop(client, keyOf(target));
  }

  leave(client: LiveClient): void {
    for (const key of this.watched.keys()) this.drop(client, key);
  }

  private drop(client: LiveClient, key: string): void {
    const entry = this.watched.get(key);
    entry?.clients.delete(client);
    if (entry?.clients.size === 0) this.watched.delete(key);
    if (this.watched.size > 0 || !this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private check(): void {
    this.checking ??= Promise.all([...this.watched.values()].map(entry => this.checkOne(entry)))
      .catch(() => {}) // a disk error; the next check follows soon
      .then(() => {
        this.checking = null;
      });
  }

  private async checkOne({ target, clients }: Watched): Promise<void> {
    const { runId, turn, stream } = target;
    const { files, runner, traces } = this.services;
    // Read before the size: if the turn is over now, the size below is final.
    const run = runner.current(runId);
    const isOver = run === null || run.turn > turn;
    const size = await files.size({ runId, number: turn }, stream);
    const messages = traces.savedOf(runId);
    const current = `${size} ${messages}`;
    const message = frame({ type: 'grew', ...target, size, messages, isOver });
    for (const [client, sent] of clients) {
      if (!isOver && sent === current) continue;
      // A client that is behind drops the message; it is sent again with the next check.
      if (!client.send(message)) continue;
      clients.set(client, current);
      if (isOver) this.drop(client, keyOf(target));
    }
  }
}

const keyOf = ({ runId, turn, stream }: Target): string => `${runId} ${turn} ${stream}`;
