import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
} from 'node:fs';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const MAX_NAMES = 100_000;
const FILE = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * A folder that an agent may change while Squad reads it. Each folder is opened through the descriptor of its parent, so no link
 * is followed at any depth. Linux only, as sandboxes are.
 */
export class HostileFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Null: there is no such folder. */
  static use<T>(path: string, act: (folder: HostileFolder) => T): T | null {
    let fd: number;
    try {
      fd = openSync(path, DIRECTORY);
    } catch {
      return null; // missing, a link, or no folder
    }
    try {
      return act(new HostileFolder(fd));
    } finally {
      closeSync(fd);
    }
  }

  /** For a folder below this one, by its relative path. */
  below<T>(path: string, act: (folder: HostileFolder) => T): T | null {
    const [first = '', ...rest] = path.split('/');
    return HostileFolder.use(this.path(first), folder =>
      rest.length === 0 ? act(folder) : folder.below(rest.join('/'), act),
    );
  }

  /** Valid while this folder is used. */
  path = (name: string): string => `/proc/self/fd/${this.#fd}/${name}`;

  /** At most `MAX_NAMES`: the hub waits for it. */
  names(): string[] {
    const names: string[] = [];
    const folder = opendirSync(`/proc/self/fd/${this.#fd}`);
    try {
      for (let entry = folder.readSync(); entry && names.length < MAX_NAMES; entry = folder.readSync())
        names.push(entry.name);
    } finally {
      folder.closeSync();
    }
    return names;
  }

  stat = (name: string): BigIntStats | null =>
    lstatSync(this.path(name), { bigint: true, throwIfNoEntry: false }) ?? null;

  /** A plain file. Null: there is none, or it is larger than `maxBytes`. */
  read(name: string, maxBytes: number): Buffer | null {
    let fd: number;
    try {
      fd = openSync(this.path(name), FILE);
    } catch {
      return null; // missing, or a link
    }
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > maxBytes) return null;
      const bytes = Buffer.alloc(stats.size);
      let filled = 0;
      for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
        read = readSync(fd, bytes, filled, bytes.length - filled, filled);
      return bytes.subarray(0, filled);
    } finally {
      closeSync(fd);
    }
  }
}
