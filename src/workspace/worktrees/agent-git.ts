import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile, realpath, rename } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { nullIfMissing } from '../../base/missing-file.ts';
import { removeTree } from '../../process/output/own-folder.ts';
import { stampOf } from '../files/file-stamp.ts';
import { HostileFolder } from '../files/hostile-folder.ts';
import { readBounded } from '../files/text-file.ts';
import { agentGitOf } from '../git/git-folder.ts';

/** Squad's record of the Git folder of a work tree's sandboxed agents. No agent can write the record. */
const AgentGitState = z.object({
  path: z.string(),
  branch: z.string(),
  commonDir: z.string(),
  /** Git folder of the work tree, inside the repository's Git folder. */
  gitDir: z.string(),
  /** Last commit at which repository and agent had the branch in common. */
  synced: z.string(),
  /** Commit to which the repository's branch is being moved. Null when no move is in progress. */
  moving: z.string().nullable(),
  /**
   * Commit at which Squad has detached the HEAD of the work tree in the repository, because the agent's HEAD is not
   * on the run's branch. Null if it has not.
   */
  detached: z.string().nullable(),
  /** Stamp of the repository's index after Squad last made it equal to the agent's. */
  index: z.string().nullable(),
  /** Number of commits that were collected and not reported yet. */
  commits: z.number(),
  notes: z.array(z.string()),
});
export type AgentGitState = z.infer<typeof AgentGitState>;

export interface AgentRefs {
  /** Full name of the ref that HEAD names, or the commit. Null if HEAD names neither. */
  head: string | null;
  refs: Map<string, string>;
}

export const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_REF_BYTES = 1024;
const MAX_PACKED_BYTES = 64 * 1024 ** 2;
const MAX_LOG_BYTES = 16 * 1024 ** 2;
const MAX_REFS = 100_000;
/** Serialises work on one folder. */
const queue = new KeyedQueue<string>();

/**
 * The Git folder that sandboxed agents of a work tree see in place of the repository's. It is in a folder next to the
 * work tree. Agents can write `git` and `objects`. They cannot write `state.json` and `refs`, the refs that they were
 * given.
 */
export class AgentGit {
  readonly folder: string;
  readonly git: string;
  readonly objects: string;
  /** Folder for objects on their way into the repository. */
  readonly staging: string;

  constructor(path: string) {
    this.folder = agentGitOf(path);
    this.git = join(this.folder, 'git');
    this.objects = join(this.folder, 'objects');
    this.staging = join(this.folder, 'staging');
  }

  exists = (): boolean => existsSync(this.folder);

  inTurn = <T>(work: () => Promise<T>): Promise<T> => queue.run(this.folder, work);

  /** Null if there is no complete folder, so that no agent has used one. */
  async state(): Promise<AgentGitState | null> {
    const text = await readFile(join(this.folder, 'state.json'), 'utf8').catch(nullIfMissing);
    if (text === null) return null;
    await this.#finishSwap();
    return AgentGitState.parse(JSON.parse(text));
  }

  /**
   * Saves the state synchronously, because the start of an agent waits for this write, and a thread switch costs more
   * than the write.
   */
  save = (state: AgentGitState): void => replace(join(this.folder, 'state.json'), JSON.stringify(state));

  /** Refs that the agents were given, as a packed-refs file. */
  given = async (): Promise<Map<string, string>> =>
    packedRefs(await readFile(join(this.folder, 'refs')).catch(nullIfMissing));

  giveRefs = (text: string): void => replace(join(this.folder, 'refs'), text);

  /** Replaces `git` by the new folder. If the hub dies in between, `#finishSwap` restores the old folder. */
  async swap(fresh: string): Promise<void> {
    await removeTree(this.#old);
    if (existsSync(this.git)) await rename(this.git, this.#old);
    await rename(fresh, this.git);
    await removeTree(this.#old);
  }

  async #finishSwap(): Promise<void> {
    if (!existsSync(this.git) && existsSync(this.#old)) await rename(this.#old, this.git);
  }

  get #old(): string {
    return join(this.folder, 'git.old');
  }

  remove = (): Promise<void> => removeTree(this.folder);

  /** Changes whenever an agent changes HEAD, index or a ref. */
  fingerprint({ branch, gitDir }: AgentGitState, withAllRefs: boolean): string {
    const hash = createHash('sha256');
    HostileFolder.use(this.git, git => {
      const stamp = (folder: HostileFolder, name: string) => {
        const stats = folder.stat(name);
        hash.update(`\0${name}\0${stats && stampOf(stats)}`);
      };
      stamp(git, 'packed-refs');
      git.below('logs/refs', logs => stamp(logs, 'stash'));
      git.below(`worktrees/${basename(gitDir)}`, own => {
        hash.update(own.read('HEAD', MAX_REF_BYTES) ?? '');
        stamp(own, 'index');
      });
      const refs = withAllRefs ? looseRefs(git) : looseRefs(git, `refs/heads/${branch}`);
      for (const [name, oid] of refs) hash.update(`\0${name}\0${oid}`);
    });
    return hash.digest('hex');
  }

  refs({ gitDir }: AgentGitState): AgentRefs {
    const found = HostileFolder.use(this.git, git => {
      const refs = packedRefs(git.read('packed-refs', MAX_PACKED_BYTES));
      for (const [name, oid] of looseRefs(git)) refs.set(name, oid);
      const text = git.below(`worktrees/${basename(gitDir)}`, own => own.read('HEAD', MAX_REF_BYTES));
      const [, ref] = /^ref: (refs\/\S+)\n?$/.exec(String(text ?? '')) ?? [];
      const oid = String(text ?? '').trim();
      return { refs, head: ref ?? (OID.test(oid) ? oid : null) };
    });
    return found ?? { refs: new Map(), head: null };
  }

  index = ({ gitDir }: AgentGitState, maxBytes: number): Buffer | null =>
    this.#own(gitDir, own => own.read('index', maxBytes));

  /** Copies the agent's logs, and its files of the work tree's git folder. Only regular files are copied. */
  copyTo({ logs, own }: { logs: string; own: string }, { gitDir }: AgentGitState): void {
    HostileFolder.use(this.git, git => git.below('logs', folder => copyPlain(folder, logs)));
    this.#own(gitDir, folder => copyPlain(folder, own, 'modules'));
  }

  /** The folder is opened through `HostileFolder`, because an agent can replace `worktrees` by a link. */
  #own = <T>(gitDir: string, act: (own: HostileFolder) => T): T | null =>
    HostileFolder.use(this.git, git => git.below(`worktrees/${basename(gitDir)}`, act));

  /** Commits that the agent's logs name, newest last. `stashes` selects only those of stashes. */
  logged({ gitDir }: AgentGitState, of: 'stashes' | 'all'): string[] {
    const texts: string[] = [];
    const read = (folder: HostileFolder, name: string) =>
      void texts.push(String(folder.read(name, MAX_LOG_BYTES) ?? ''));
    HostileFolder.use(this.git, git => {
      git.below('logs/refs', logs => read(logs, 'stash'));
      if (of === 'stashes') return;
      git.below('logs', logs => eachFile(logs, '', read));
      git.below(`worktrees/${basename(gitDir)}`, own => {
        for (const name of own.names()) if (/^[A-Z_]+$/.test(name) && name !== 'FETCH_HEAD') read(own, name);
        own.below('logs', logs => eachFile(logs, '', read));
      });
    });
    const words = texts.flatMap(text => text.split('\n')).flatMap(row => row.split(' ', 2));
    return [...new Set(words)].filter(word => OID.test(word) && !/^0+$/.test(word)).slice(-MAX_REFS);
  }
}

const MAX_COPIED_DEPTH = 100;

/** Limits for all copied files together. The hub waits for the copy, and an agent can put anything into the folder. */
const roomForCopies = () => ({ files: 10_000, bytes: 256 * 1024 ** 2 });

function copyPlain(
  folder: HostileFolder,
  to: string,
  except?: string,
  depth = MAX_COPIED_DEPTH,
  room = roomForCopies(),
): void {
  mkdirSync(to, { recursive: true });
  const folders: string[] = [];
  for (const name of folder.names()) {
    if (name === except || name.endsWith('.lock')) continue;
    const found = folder.stat(name);
    if (found?.isDirectory()) folders.push(name);
    if (!found?.isFile() || --room.files < 0) continue;
    const bytes = folder.read(name, room.bytes);
    if (bytes === null) continue;
    room.bytes -= bytes.length;
    const path = join(to, name);
    writeFileSync(path, bytes, { mode: Number(found.mode) & 0o777 });
    // Keeps the times of the source, because git would read files again that are not older than the index.
    utimesSync(path, Number(found.atimeMs) / 1000, Number(found.mtimeMs) / 1000);
  }
  // Subfolders are copied after the files, so that HEAD and the index are copied before the limits are reached.
  for (const name of folders)
    if (depth > 0 && --room.files >= 0)
      folder.below(name, below => copyPlain(below, join(to, name), undefined, depth - 1, room));
}

function replace(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function packedRefs(file: Buffer | null): Map<string, string> {
  const rows = String(file ?? '').split('\n');
  const refs = rows.flatMap(row => {
    const [, oid, name] = /^([0-9a-f]{40,64}) (refs\/\S+)$/.exec(row) ?? [];
    return oid && name && OID.test(oid) ? [[name, oid] as const] : [];
  });
  return new Map(refs.slice(0, MAX_REFS));
}

/** Symbolic refs are left out. */
function looseRefs(git: HostileFolder, only?: string): Map<string, string> {
  const refs = new Map<string, string>();
  const read = (folder: HostileFolder, file: string, name: string) => {
    const oid = String(folder.read(file, MAX_REF_BYTES) ?? '').trim();
    if (OID.test(oid) && refs.size < MAX_REFS) refs.set(name, oid);
  };
  if (only === undefined) git.below('refs', folder => eachFile(folder, 'refs/', read));
  else {
    const at = only.lastIndexOf('/');
    git.below(only.slice(0, at), folder => read(folder, only.slice(at + 1), only));
  }
  return refs;
}

function eachFile(
  folder: HostileFolder,
  before: string,
  act: (folder: HostileFolder, name: string, path: string) => void,
  room = { entries: MAX_REFS },
): void {
  for (const name of folder.names()) {
    if (--room.entries < 0) return;
    if (folder.stat(name)?.isFile()) act(folder, name, `${before}${name}`);
    else if (before.length < MAX_REF_BYTES)
      folder.below(name, below => eachFile(below, `${before}${name}/`, act, room));
  }
}

/** True for a valid ref name. Stricter than git's own rule: rare characters that git allows are refused. */
export const isRefName = (name: string): boolean =>
  name.length < 300 &&
  /^refs(\/[^\s/~^:?*[\\\p{Cc}]+)+$/u.test(name) &&
  !/\.\.|@\{|\/[.-]|\.(lock)?(\/|$)/.test(name);

const MAX_ALTERNATES = 32;

/** Object folders of a repository: its own and those of its alternates, with links resolved. */
export async function objectFolders(objects: string, found: string[] = []): Promise<string[]> {
  const real = await realpath(objects).catch(() => null);
  if (real === null || found.includes(real) || found.length >= MAX_ALTERNATES) return found;
  found.push(real);
  const list = readBounded(join(real, 'info', 'alternates'));
  const lines = typeof list === 'string' ? [] : list.toString().split('\n');
  for (const line of lines)
    if (line !== '' && !line.startsWith('#')) await objectFolders(resolve(real, unquoted(line)), found);
  return found;
}

/** Git quotes unusual paths like strings of C. */
function unquoted(line: string): string {
  if (!line.startsWith('"')) return line;
  const bytes = line
    .slice(1, -1)
    .replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    .replaceAll(/\\(["\\])/g, '$1');
  return Buffer.from(bytes, 'latin1').toString();
}
