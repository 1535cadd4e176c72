import {
  type BigIntStats,
  closeSync,
  constants,
  copyFileSync,
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
 * A folder that an agent may change while Squad reads it. Each folder is opened through the descriptor of its parent,
 * so that no link is followed at any depth. Linux only, like sandboxes.
 */
export class HostileFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Null if there is no such folder. */
  static use<T>(path: string, act: (folder: HostileFolder) => T): T | null {
    let fd: number;
    try {
      fd = openSync(path, DIRECTORY);
    } catch {
      return null; // the path is missing, a link, or not a folder
    }
    try {
      return act(new HostileFolder(fd));
    } finally {
      closeSync(fd);
    }
  }

  /** Calls `act` with a folder below this one, given by its relative path. Null if it does not exist. */
  below<T>(path: string, act: (folder: HostileFolder) => T): T | null {
    const [first = '', ...rest] = path.split('/');
    return HostileFolder.use(this.path(first), folder =>
      rest.length === 0 ? act(folder) : folder.below(rest.join('/'), act),
    );
  }

  /** Path of a file in this folder. Valid only while `act` runs. */
  path = (name: string): string => `/proc/self/fd/${this.#fd}/${name}`;

  /** Names in the folder, at most `MAX_NAMES`, because the hub waits for the list. */
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

  stat(name: string): BigIntStats | null {
    try {
      return lstatSync(this.path(name), { bigint: true });
    } catch {
      return null; // the entry is missing, or the agent took away the right to look into the folder
    }
  }

  /** Copies a regular file. Does nothing if the file is missing or not a regular file. */
  copy(name: string, to: string): void {
    this.#withFile(name, fd => {
      if (fstatSync(fd).isFile()) copyFileSync(`/proc/self/fd/${fd}`, to, constants.COPYFILE_EXCL);
    });
  }

  /** Reads a regular file. Null if there is none, or if it is larger than `maxBytes`. */
  read(name: string, maxBytes: number): Buffer | null {
    return this.#withFile(name, fd => {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > maxBytes) return null;
      const bytes = Buffer.alloc(stats.size);
      let filled = 0;
      for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
        read = readSync(fd, bytes, filled, bytes.length - filled, filled);
      return bytes.subarray(0, filled);
    });
  }

  #withFile<T>(name: string, act: (fd: number) => T): T | null {
    let fd: number;
    try {
      fd = openSync(this.path(name), FILE);
    } catch {
      return null; // the file is missing, or a link
    }
    try {
      return act(fd);
    } finally {
      closeSync(fd);
    }
  }
}
