import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';

const CHECK_EVERY_MS = 1_000;

export interface GuardedFile {
  path: string;
  /** False: another hub has the file. */
  restore(): boolean | Promise<boolean>;
}

export interface HomeGuardOptions {
  home: string;
  /** Guarded in their present state. */
  files: readonly GuardedFile[];
  warn(message: string, cause?: unknown): void;
  /** Called when this hub cannot be the hub of this home any more. */
  onLost(reason: string): void;
}

/**
 * Notices when a file is removed or replaced without which clients cannot find the hub, or would start a second one, and
 * restores it. Uses a timer, because a watcher would wake up with every write to the database beside these files.
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
