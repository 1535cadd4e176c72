import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Editors write a file in several steps; whoever looks at once sees half of it. */
const SETTLE_MS = 50;
/** After a watch could not begin, or ended by itself. */
const AGAIN_MS = 2_000;
const MAX_DEPTH = 3;
const MAX_FOLDERS = 256;

/** Paths inside the folder that changed; null when it cannot be told which. */
export type Changed = ReadonlySet<string> | null;

/**
 * Calls back, a moment after the first of several changes, when something in a folder or a few steps below it has changed.
 * The folder may come later, go, or be replaced. Returns how to stop. One watch for each folder: a recursive one of Node's
 * takes one for each file.
 */
export function watchFolder(folder: string, onChange: (changed: Changed) => void): () => void {
  const watches = new Map<string, { watcher: FSWatcher; ino: number }>();
  let names: Set<string> | null = new Set();
  let settle: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let isOver = false;

  const tell = (name: string | null) => {
    if (isOver) return;
    if (name === null) names = null;
    else names?.add(name);
    settle ??= setTimeout(async () => {
      settle = undefined;
      await follow();
      const changed = names;
      names = new Set();
      if (!isOver && (changed === null || changed.size > 0)) onChange(changed);
    }, SETTLE_MS).unref();
  };

  /** Puts a watch on every folder that has none, and takes away those of folders that are gone. */
  async function follow(): Promise<void> {
    const seen = new Set<string>();
    const parent = dirname(folder);
    if (!(await hold(parent, name => (name === null || name === basename(folder)) && tell(null)))) again();
    seen.add(parent);
    const left = [{ path: '', depth: 0 }];
    for (let next = left.shift(); next && seen.size < MAX_FOLDERS; next = left.shift()) {
      const { path, depth } = next;
      const place = join(folder, path);
      if (!(await hold(place, name => tell(name === null ? null : join(path, name))))) continue;
      seen.add(place);
      if (depth === MAX_DEPTH) continue;
      for (const entry of await readdir(place, { withFileTypes: true }).catch(() => []))
        if (entry.isDirectory()) left.push({ path: join(path, entry.name), depth: depth + 1 });
    }
    for (const path of [...watches.keys()]) if (!seen.has(path)) drop(path);
  }

  /** False when there is no such folder. One that was replaced is watched anew. */
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
      again(); // the system has no watches left, or it went this moment
    }
    return true;
  }

  function again(): void {
    if (isOver) return;
    retry ??= setTimeout(() => {
      retry = undefined;
      void follow();
    }, AGAIN_MS).unref();
  }

  function drop(path: string): void {
    watches.get(path)?.watcher.close();
    watches.delete(path);
  }

  void follow();
  return () => {
    isOver = true;
    clearTimeout(settle);
    clearTimeout(retry);
    for (const path of [...watches.keys()]) drop(path);
  };
}

interface NameWatchOptions {
  folder: string;
  /** Only changes of this name in it count, and of the folder itself. */
  name: string;
  onChange(): void;
  /** It cannot be watched; told once. */
  onTrouble(reason: string): void;
}

/** Watches one name in whatever folder is at a path: the folder may not be there yet, go away, and be replaced. */
export class NameWatch {
  readonly #options: NameWatchOptions;
  #watcher: FSWatcher | null = null;
  /** Which folder it was when the watch began. */
  #identity: string | null = null;
  #isTold = false;

  constructor(options: NameWatchOptions) {
    this.#options = options;
  }

  /** Turns to the folder that is there now. What changes after this is told. */
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
        this.#tell(thrown);
        this.close();
        onChange();
      });
      this.#watcher = watcher;
      this.#identity = identity;
    } catch (thrown) {
      // Gone in between: the folder around it tells when it comes back.
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') this.#tell(thrown);
    }
  }

  #tell(thrown: unknown): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#options.onTrouble(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** The number of an inode is given out again; the moment it was made is not. */
async function identityOf(folder: string): Promise<string | null> {
  const info = await stat(folder, { bigint: true }).catch(() => null);
  return info?.isDirectory() ? `${info.dev}:${info.ino}:${info.birthtimeNs}` : null;
}
