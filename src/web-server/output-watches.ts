import type { OutputStream } from '../core/ports/run-files.ts';
import type { RunId } from '../schema/ids.ts';
import type { LivePage } from './live-client.ts';
import { frame } from './live-feed.ts';
import type { PagePorts } from './ports.ts';

export interface Target {
  runId: RunId;
  turn: number;
  stream: OutputStream;
}

interface Watched {
  target: Target;
  /** Each with what it was told last; null: nothing yet. */
  pages: Map<LivePage, string | null>;
}

type WatchServices = Pick<PagePorts['services'], 'files' | 'runner' | 'traces'>;

const MAX_PER_PAGE = 8;

/** Tells pages how large an output has become. Sizes are looked at only while somebody watches, and once for all who do. */
export class OutputWatches {
  private readonly services: WatchServices;
  private readonly everyMs: number;
  private readonly watched = new Map<string, Watched>();
  private timer: NodeJS.Timeout | null = null;
  private looking: Promise<void> | null = null;

  constructor(services: WatchServices, everyMs: number) {
    this.services = services;
    this.everyMs = everyMs;
  }

  /** False when the page watches too much already. */
  watch(page: LivePage, target: Target): boolean {
    const key = keyOf(target);
    const entry = this.watched.get(key) ?? { target, pages: new Map() };
    const others = [...this.watched.values()].filter(each => each !== entry && each.pages.has(page));
    if (others.length >= MAX_PER_PAGE) return false;
    this.watched.set(key, entry);
    entry.pages.set(page, null);
    this.timer ??= setInterval(() => this.look(), this.everyMs).unref();
    this.look();
    return true;
  }

  unwatch(page: LivePage, target: Target): void {
    this.drop(page, keyOf(target));
  }

  leave(page: LivePage): void {
    for (const key of this.watched.keys()) this.drop(page, key);
  }

  private drop(page: LivePage, key: string): void {
    const entry = this.watched.get(key);
    entry?.pages.delete(page);
    if (entry?.pages.size === 0) this.watched.delete(key);
    if (this.watched.size > 0 || !this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private look(): void {
    this.looking ??= Promise.all([...this.watched.values()].map(entry => this.lookAt(entry)))
      .catch(() => {}) // the disk's trouble; the next look is soon
      .then(() => {
        this.looking = null;
      });
  }

  private async lookAt({ target, pages }: Watched): Promise<void> {
    const { runId, turn, stream } = target;
    const { files, runner, traces } = this.services;
    // Before the size: what is over then has its last size now.
    const run = runner.current(runId);
    const isOver = run === null || run.turn > turn;
    const size = await files.size({ runId, number: turn }, stream);
    const messages = traces.savedOf(runId);
    const news = `${size} ${messages}`;
    const message = frame({ type: 'grew', ...target, size, messages, isOver });
    for (const [page, told] of pages) {
      if (!isOver && told === news) continue;
      // What a page that is behind did not take, it is told again.
      if (!page.send(message)) continue;
      pages.set(page, news);
      if (isOver) this.drop(page, keyOf(target));
    }
  }
}

const keyOf = ({ runId, turn, stream }: Target): string => `${runId} ${turn} ${stream}`;
