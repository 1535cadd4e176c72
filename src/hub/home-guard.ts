import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';

const CHECK_EVERY_MS = 1_000;

export interface GuardedFile {
  path: string;
  /** Restores the file. Returns false if another hub owns it. */
  restore(): boolean | Promise<boolean>;
}

export interface HomeGuardOptions {
  home: string;
  /** Files to guard; their current state counts as correct. */
  files: readonly GuardedFile[];
  warn(message: string, cause?: unknown): void;
  /** Called when this process can no longer be the hub of this home. */
  onLost(reason: string): void;
}

/**
 * Watches the files that clients need to find the hub. If one is removed or replaced, clients would start a second hub,
 * so it is restored. Uses a timer, because a file watcher would fire with every write to the database in the same
 * folder.
 */
export class HomeGuard {
  readonly #options: HomeGuardOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #known: Map<string, string | null>;
  #isChecking = false;

  constructor(options: HomeGuardOptions) {
    this.#options = options;
    this.#known = new Map(options.files.map(({ path }) => [path, identityOf(path)]));
    this.#timer = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();
  }

  async check(): Promise<void> {
    const { home, files, warn, onLost } = this.#options;
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      if (!existsSync(home)) return onLost(`its home ${home} was removed`);
      for (const { path, restore } of files) {
        const found = identityOf(path);
        if (found !== null && found === this.#known.get(path)) continue;
        const name = basename(path);
        if (!(await restore())) return onLost(`another hub has taken ${name}`);
        this.#known.set(path, identityOf(path));
        warn(`${name} was ${found === null ? 'removed' : 'replaced'}; the hub restored it`);
      }
    } catch (thrown) {
      warn('A file of the home could not be restored', thrown);
    } finally {
      this.#isChecking = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? `${found.dev}:${found.ino}` : null;
}
