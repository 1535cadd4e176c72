import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';

export interface NameWatchOptions {
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
