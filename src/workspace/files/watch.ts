import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Editors write a file in several steps, so reading at once would see half of it. */
const DEBOUNCE_MS = 50;
/** Delay before retrying a watch that could not start or that failed. */
const RETRY_MS = 2_000;
const MAX_DEPTH = 3;
const MAX_FOLDERS = 256;

/** Paths inside the folder that changed. Null if it is unknown which. */
export type Changed = ReadonlySet<string> | null;

/**
 * Calls back when something in a folder or a few levels below it has changed, shortly after the first of several
 * changes. The folder may be created later, removed, or replaced. Returns a function that stops the watch. Uses one
 * watch per folder, because Node's recursive watch uses one per file.
 */
export function watchFolder(folder: string, onChange: (changed: Changed) => void): () => void {
  const watches = new Map<string, { watcher: FSWatcher; ino: number }>();
  let names: Set<string> | null = new Set();
  let debounce: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let isOver = false;

  const notify = (name: string | null) => {
    if (isOver) return;
    if (name === null) names = null;
    else names?.add(name);
    debounce ??= setTimeout(async () => {
      debounce = undefined;
      await follow();
      const changed = names;
      names = new Set();
      if (!isOver && (changed === null || changed.size > 0)) onChange(changed);
    }, DEBOUNCE_MS).unref();
  };

  /** Watches every folder that is not watched yet, and drops watches of removed folders. */
  async function follow(): Promise<void> {
    const seen = new Set<string>();
    const parent = dirname(folder);
    if (!(await hold(parent, name => (name === null || name === basename(folder)) && notify(null)))) again();
    seen.add(parent);
    const left = [{ path: '', depth: 0 }];
    for (let next = left.shift(); next && seen.size < MAX_FOLDERS; next = left.shift()) {
      const { path, depth } = next;
      const place = join(folder, path);
      if (!(await hold(place, name => notify(name === null ? null : join(path, name))))) continue;
      seen.add(place);
      if (depth === MAX_DEPTH) continue;
      for (const entry of await readdir(place, { withFileTypes: true }).catch(() => []))
        if (entry.isDirectory()) left.push({ path: join(path, entry.name), depth: depth + 1 });
    }
    for (const path of [...watches.keys()]) if (!seen.has(path)) drop(path);
  }

  /** Watches one folder. False if there is no such folder. A folder that was replaced gets a new watch. */
  async function hold(path: string, onEvent: (name: string | null) => void): Promise<boolean> {
    const info = await stat(path).catch(() => null);
    if (!info?.isDirectory() || isOver) return false;
    if (watches.get(path)?.ino === info.ino) return true;
    drop(path);
    try {
      const watcher = watch(path, { persistent: false });
      watches.set(path, { watcher, ino: info.ino });
      watcher.on('change', (_, name) => onEvent(name === null ? null : String(name)));
      watcher.on('error', () => {
        drop(path);
        again();
      });
    } catch {
      again(); // the system has no watches left, or the folder was just removed
    }
    return true;
  }

  function again(): void {
    if (isOver) return;
    retry ??= setTimeout(() => {
      retry = undefined;
      void follow();
    }, RETRY_MS).unref();
  }

  function drop(path: string): void {
    watches.get(path)?.watcher.close();
    watches.delete(path);
  }

  void follow();
  return () => {
    isOver = true;
    clearTimeout(debounce);
    clearTimeout(retry);
    for (const path of [...watches.keys()]) drop(path);
  };
}

interface NameWatchOptions {
  folder: string;
  /** Name of the file in the folder. Only changes of this file and of the folder itself are reported. */
  name: string;
  onChange(): void;
  /** Called once if the folder cannot be watched. */
  onError(reason: string): void;
}

/** Watches one name in a folder. The folder may be created later, removed, or replaced. */
export class NameWatch {
  readonly #options: NameWatchOptions;
  #watcher: FSWatcher | null = null;
  /** Identity of the folder when the watch started. */
  #identity: string | null = null;
  #isReported = false;

  constructor(options: NameWatchOptions) {
    this.#options = options;
  }

  /** Starts to watch the folder that exists now. */
  async renew(): Promise<void> {
    const identity = await identityOf(this.#options.folder);
    if (identity === this.#identity) return;
    this.close();
    if (identity !== null) this.#begin(identity);
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
    this.#identity = null;
  }

  #begin(identity: string): void {
    const { folder, name, onChange } = this.#options;
    try {
      const watcher = watch(folder, { persistent: false }, (_, changed) => {
        if (changed === null || changed === name || changed === basename(folder)) onChange();
      });
      watcher.on('error', thrown => {
        this.#report(thrown);
        this.close();
        onChange();
      });
      this.#watcher = watcher;
      this.#identity = identity;
    } catch (thrown) {
      // The folder was just removed. The watch of its parent reports when it is created again.
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') this.#report(thrown);
    }
  }

  #report(thrown: unknown): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.onError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** Inode numbers are reused, so the creation time is needed to distinguish two folders. */
async function identityOf(folder: string): Promise<string | null> {
  const info = await stat(folder, { bigint: true }).catch(() => null);
  return info?.isDirectory() ? `${info.dev}:${info.ino}:${info.birthtimeNs}` : null;
}
