import { linkSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { CollectedCommits } from '../../core/ports/worktrees.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { eachOf, stampOf, statWorkFile } from '../files/file-stamp.ts';
import { NO_LINKS } from '../files/hard-links.ts';
import { HostileFolder } from '../files/hostile-folder.ts';
import { joinPaths, splitPaths } from '../files/paths.ts';
import {
  COMMITTER,
  isAncestor,
  outputLine,
  parseRawDiff,
  readRefs,
  type TreeChange,
} from '../git/commits.ts';
import { type Environment, type Git, GitError, gitIn, runWithLockRetry, settingsOf } from '../git/git.ts';
import { indexOf, withScratchIndex } from '../git/git-index.ts';
import { withIndexLock } from '../git/index-lock.ts';
import { AgentGit, type AgentGitState, type AgentRefs, OID, objectFolders } from './agent-git.ts';
import { saveCommits } from './save-work.ts';
import { inspectPlace } from './worktree-place.ts';

/**
 * How much a collection brings into the repository. `branch`: the run's branch, HEAD and index. `refs`: also commits on
 * other branches and in stashes, saved under a ref. `all`: also every commit that the agent's logs name.
 */
export type Depth = 'branch' | 'refs' | 'all';

/** Called before each step. Tests kill the process there. */
export type Checkpoint = (step: 'stage' | 'pack' | 'install' | 'index' | 'move' | 'moved') => void;

/**
 * Limits for each git process that reads files of an agent. The memory limit is per process, so git uses one thread.
 */
const ON_HOSTILE = { limitMs: 300_000, maxMemoryBytes: 1024 ** 3 };
const ONE_THREAD = ['-c', 'pack.threads=1'];
const MAX_FILES = 1_000_000;
/** Maximum size of an agent's objects on disk. */
const MAX_STAGED_BYTES = 4 * 1024 ** 3;
/** Limit for trees and commits, which git reads into memory as a whole. */
const MAX_OBJECT_BYTES = 64 * 1024 ** 2;
const MAX_BLOB_BYTES = 2 * 1024 ** 3;
const MAX_INDEX_BYTES = 256 * 1024 ** 2;
const MAX_LISTED_BYTES = 400 * 1024 ** 2;
/**
 * Up to these limits, the objects of a commit are stored as single files, as `git fetch` does. Without them each commit
 * would add a pack to the repository.
 */
const MAX_LOOSE = 100;
const MAX_LOOSE_BYTES = 8 * 1024 ** 2;
/** Maximum number of attempts. A collection can fail because the agent's git repacks its objects at the same time. */
const MAX_TRIES = 3;
const NO_OBJECTS = '0'.repeat(40);

const NOTHING: CollectedCommits = { commits: 0, note: null };

interface Seen {
  /** For each depth, the fingerprint of the agent's Git folder at the last successful collection. */
  branch?: string;
  refs?: string;
  /**
   * The last failure. Readers get the same error until the agent changes something, because another attempt can take
   * long.
   */
  failed?: { print: string; error: SquadError };
}

const seen = new Map<string, Seen>();

/** Brings the commits of a work tree's sandboxed agents into the repository. Throws GIT_FAILED. */
export function collectCommits(
  path: string,
  env: Environment,
  depth: Depth,
  checkpoint?: Checkpoint,
): Promise<CollectedCommits> {
  const agent = new AgentGit(path);
  if (!agent.exists()) return Promise.resolve(NOTHING);
  return agent.inTurn(async () => {
    await collectInTurn(agent, env, depth, checkpoint);
    const state = depth === 'branch' ? null : await agent.state();
    if (!state || (state.commits === 0 && state.notes.length === 0)) return NOTHING;
    agent.save({ ...state, commits: 0, notes: [] });
    return { commits: state.commits, note: state.notes.join(' ') || null };
  });
}

/** Like `collectCommits`, for a caller that already runs inside `agent.inTurn`. */
export async function collectInTurn(
  agent: AgentGit,
  env: Environment,
  depth: Depth,
  checkpoint: Checkpoint = () => {},
): Promise<void> {
  const state = await agent.state();
  if (!state) return;
  const print = agent.fingerprint(state, depth !== 'branch');
  const last = seen.get(agent.folder);
  if (depth !== 'all' && last?.[depth] === print) return;
  if (depth === 'branch' && last?.failed?.print === print) throw last.failed.error;
  try {
    await collectWithRetry(agent, env, depth, checkpoint);
    seen.set(agent.folder, { ...last, failed: undefined, [depth]: print });
  } catch (thrown) {
    if (!(thrown instanceof GitError)) throw thrown;
    const message = `The commits that the sandboxed agent made on ${state.branch} cannot be brought into the repository: ${thrown.message}.`;
    const suggestions = [`They are kept in ${agent.folder}. Remove that folder to give them up.`];
    const error = new SquadError('GIT_FAILED', message, { cause: thrown, suggestions });
    if (depth === 'branch') seen.set(agent.folder, { ...last, failed: { print, error } });
    throw error;
  }
}

/** Records that the folder was just created from the repository, so there is nothing to collect. */
export const nothingToCollect = (agent: AgentGit, state: AgentGitState): void =>
  void seen.set(agent.folder, {
    branch: agent.fingerprint(state, false),
    refs: agent.fingerprint(state, true),
  });

async function collectWithRetry(
  agent: AgentGit,
  env: Environment,
  depth: Depth,
  checkpoint: Checkpoint,
): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await new Collection(agent, (await agent.state())!, env, checkpoint).run(depth);
    } catch (error) {
      await rm(agent.staging, { recursive: true, force: true });
      if (!(error instanceof GitError) || error.exitCode === null || tried === MAX_TRIES) throw error;
    }
  }
}

/** Changes in the agent's index that no commit contains. */
interface Staged {
  changes: TreeChange[];
  /** Conflicting entries of the agent's index, as lines for `update-index --index-info`. */
  conflicts: string[];
  /** Files that a sparse checkout leaves out of the folder. */
  absent: string[];
}

const NOT_STAGED: Staged = { changes: [], conflicts: [], absent: [] };

class Collection {
  readonly #agent: AgentGit;
  readonly #state: AgentGitState;
  readonly #env: Environment;
  readonly #checkpoint: Checkpoint;
  readonly #git: Git;
  readonly #ref: string;
  #notes: string[] = [];

  constructor(agent: AgentGit, state: AgentGitState, env: Environment, checkpoint: Checkpoint) {
    this.#agent = agent;
    this.#state = state;
    this.#env = env;
    this.#checkpoint = checkpoint;
    this.#ref = `refs/heads/${state.branch}`;
    const { commonDir } = state;
    // Uses the git folder of the repository, because the one of the work tree may be gone.
    this.#git = gitIn({ root: dirname(agent.folder), gitDir: commonDir, commonDir }, env);
  }

  /**
   * Collects everything again, also after an attempt that was killed. Objects without references do no harm, and
   * until the branch has moved, the index only shows staged changes.
   */
  async run(depth: Depth): Promise<void> {
    const { commonDir } = this.#state;
    const theirs = this.#agent.refs(this.#state);
    const tip = theirs.refs.get(this.#ref) ?? null;
    const ours = await readRefs(this.#git);
    const head = theirs.head?.startsWith('refs/') ? (theirs.refs.get(theirs.head) ?? null) : theirs.head;
    const others = depth === 'branch' ? [] : await this.#otherCommits(theirs, depth);
    const objects = new Objects(this.#git, this.#agent, await objectFolders(join(commonDir, 'objects')));
    try {
      this.#checkpoint('stage');
      await objects.stage();
      const commits = await objects.existing(
        [tip, head, ...others].filter(each => each !== null),
        'commit',
      );
      if (tip !== null && !commits.has(tip))
        throw new GitError(`its commit ${tip} is not complete`, INCOMPLETE);
      const isOnBranch = theirs.head === this.#ref;
      const at = isOnBranch ? tip : head !== null && commits.has(head) ? head : null;
      const staged = at === null ? null : await this.#readStaged(objects, at);
      const blobs = (staged?.changes ?? []).flatMap(({ is }) => (is && is.mode !== '160000' ? [is.oid] : []));
      const conflicting = (staged?.conflicts ?? []).map(line => line.split(' ')[1]!);
      const more = await objects.existing([...blobs, ...conflicting], 'blob');
      this.#checkpoint('pack');
      const pack = await objects.pack([...commits, ...more], [...new Set(ours.values())]);
      this.#checkpoint('install');
      if (pack) await this.#install(pack);
      const isMoved = await this.#decide(tip, ours.get(this.#ref) ?? null);
      const isInSync = tip !== null && (isMoved || tip === ours.get(this.#ref));
      const move = isMoved ? { from: ours.get(this.#ref)!, to: tip! } : null;
      const target = at !== null && (isInSync || !isOnBranch) ? { at, isOnBranch } : null;
      await this.#follow(move, target, staged ?? NOT_STAGED);
      if (isInSync) this.#state.synced = tip!;
      this.#state.moving = null;
      const saved = await saveCommits(this.#git, this.#state.path, others);
      if (saved)
        this.#notes.push(
          `Commits that the agent made outside its branch ${this.#state.branch} were saved: git log ${shellWord(saved)}.`,
        );
      this.#state.notes.push(...this.#notes.filter(note => !this.#state.notes.includes(note)));
      this.#agent.save(this.#state);
      this.#checkpoint('moved');
    } finally {
      await objects.close();
    }
  }

  async #otherCommits({ refs }: AgentRefs, depth: Depth): Promise<string[]> {
    const given = await this.#agent.given();
    const own = [...refs].filter(([name, oid]) => name !== this.#ref && given.get(name) !== oid);
    const logged = this.#agent.logged(this.#state, depth === 'all' ? 'all' : 'stashes');
    return [...new Set([...own.map(([, oid]) => oid), ...logged])];
  }

  /** Reads what the agent has staged. Null if the agent's index cannot be used. */
  async #readStaged(objects: Objects, commit: string): Promise<Staged | null> {
    const bytes = this.#agent.index(this.#state, MAX_INDEX_BYTES);
    if (bytes === null) return null;
    const file = join(objects.out, 'agent-index');
    await writeFile(file, bytes);
    const env = { ...objects.staged, GIT_INDEX_FILE: file };
    const how = { ...ON_HOSTILE, env, maxBytes: MAX_LISTED_BYTES };
    const diff = ['diff-index', '--cached', '--raw', '-z', '--no-renames', '--no-abbrev', commit, '--'];
    const read = Promise.all([
      this.#git.run(diff, how),
      this.#git.run(['ls-files', '-v', '--stage', '-z'], how),
    ]);
    const found = await read.catch(error => {
      if (!(error instanceof GitError)) throw error;
      this.#notes.push(
        `The agent's Git index cannot be read (${error.message}): what it had staged is unstaged.`,
      );
      return null;
    });
    if (!found) return null;
    // Format: `H 100644 1234… 0\tpath`
    const entries = splitPaths(found[1]).map(line => ({
      line: line.slice(2),
      isSkipped: line[0] === 'S' || line[0] === 's',
      path: line.slice(line.indexOf('\t') + 1),
    }));
    const skipped = entries.filter(({ isSkipped }) => isSkipped).map(({ path }) => path);
    const stats = await eachOf(skipped, path => statWorkFile(this.#state.path, path));
    return {
      changes: parseRawDiff(found[0]),
      conflicts: entries.flatMap(({ line }) => (/^\d+ \w+ [123]\t/.test(line) ? [line] : [])),
      absent: skipped.filter((_, at) => !stats[at]),
    };
  }

  /** Decides whether the repository's branch is moved to the agent's commit. Returns true to move it. */
  async #decide(tip: string | null, ours: string | null): Promise<boolean> {
    const { synced, moving, branch } = this.#state;
    if (tip === null) {
      this.#notes.push(
        `The agent removed its branch ${branch} in its sandbox; the repository's is as it was.`,
      );
      return false;
    }
    if (tip === ours) return false;
    if (ours !== null) {
      if (ours === synced || ours === moving || (await isAncestor(this.#git, ours, tip))) return true;
      if (tip === synced || (await isAncestor(this.#git, tip, ours))) return false;
    }
    const saved = await saveCommits(this.#git, this.#state.path, [tip]);
    if (saved)
      this.#notes.push(
        ours === null
          ? `The branch ${branch} is gone from the repository; the agent's commits were saved: git log ${shellWord(saved)}.`
          : `The branch ${branch} has moved to another commit while the agent committed in its sandbox. Its commits were saved: git log ${shellWord(saved)}. Their files are in the work tree.`,
      );
    return false;
  }

  async #install({ file, objects }: Pack): Promise<void> {
    const { size } = await lstat(file);
    if (objects < MAX_LOOSE && size < MAX_LOOSE_BYTES) {
      await this.#git.run(['unpack-objects', '-q'], {
        ...ON_HOSTILE,
        input: await readFile(file),
      });
      return;
    }
    const folder = join(this.#state.commonDir, 'objects', 'pack');
    await mkdir(folder, { recursive: true });
    const name = file.slice(file.lastIndexOf('/') + 1).replace(/\.pack$/, '');
    // Git finds a pack by its index file, so the index file is written last.
    for (const end of ['pack', 'idx']) {
      const draft = join(folder, `tmp_${end}_squad_${process.pid}`);
      await rm(draft, { force: true });
      await copyFile(file.replace(/pack$/, end), draft);
      await chmod(draft, 0o444);
      const handle = await open(draft, 'r');
      await handle.sync().finally(() => handle.close());
      await rename(draft, join(folder, `${name}.${end}`));
    }
  }

  /**
   * Moves the branch. Also makes index and HEAD of the work tree the same as the agent's, unless somebody else has
   * changed HEAD.
   */
  async #follow(
    move: { from: string; to: string } | null,
    target: { at: string; isOnBranch: boolean } | null,
    staged: Staged,
  ): Promise<void> {
    const { path, commonDir, gitDir } = this.#state;
    const place = await inspectPlace(path, null).catch(() => null);
    const isThere = place?.kind === 'ready' && place.gitDir === gitDir;
    const git = isThere ? gitIn({ root: path, gitDir, commonDir }, this.#env) : this.#git;
    const moveBranch = async () => {
      if (!move) return;
      this.#state.moving = move.to;
      this.#agent.save(this.#state);
      this.#checkpoint('move');
      const count = await git.run(['rev-list', '--count', move.to, `^${move.from}`], { env: COMMITTER });
      const args = [
        'update-ref',
        '--no-deref',
        '-m',
        'squad: from the sandbox',
        this.#ref,
        move.to,
        move.from,
      ];
      await runWithLockRetry(git, args, { env: COMMITTER });
      this.#state.commits += Number(String(count));
    };
    const head = isThere ? await headOf(git) : null;
    if (!target || head === null || (head !== this.#ref && head !== this.#state.detached))
      return moveBranch();
    await withIndexLock(
      gitDir,
      () =>
        withScratchIndex(
          git,
          async index => {
            await index.copy(indexOf(git), target.at);
            await index.reset(target.at);
            try {
              await index.set(staged.changes.map(({ path, is }) => [path, is] as const));
              if (staged.conflicts.length > 0)
                await index.run(['update-index', '-z', '--index-info'], joinPaths(staged.conflicts));
              await index.setSkipWorktree(staged.absent);
            } catch (error) {
              if (!(error instanceof GitError)) throw error;
              this.#notes.push(`What the agent had staged is unstaged: ${error.message}.`);
              await index.reset(target.at);
            }
            this.#checkpoint('index');
            await rename(index.file, indexOf(git));
            await moveBranch();
            await this.#followHead(git, head, target);
          },
          gitDir,
        ),
      { ownTree: path },
    );
    this.#state.index = await fileStamp(indexOf(git));
  }

  async #followHead(
    git: Git,
    head: string,
    { at, isOnBranch }: { at: string; isOnBranch: boolean },
  ): Promise<void> {
    const message = ['-m', 'squad: from the sandbox'];
    if (isOnBranch) {
      if (head !== this.#ref) await git.run(['symbolic-ref', ...message, 'HEAD', this.#ref]);
      this.#state.detached = null;
    } else {
      // The state is saved before HEAD moves, because an unknown HEAD counts as the user's.
      this.#state.detached = at;
      this.#agent.save(this.#state);
      if (head !== at) await runWithLockRetry(git, ['update-ref', '--no-deref', ...message, 'HEAD', at]);
    }
  }
}

/** Reported when the state is incomplete. It looks like a failed git command, so the collection is retried. */
const INCOMPLETE = { code: 1, stderr: '' };

/** The full name of the ref that HEAD points to, or the commit of a detached HEAD. */
const headOf = async (git: Git): Promise<string> =>
  outputLine(await git.run(['symbolic-ref', '-q', 'HEAD'], { codes: [1] })) ||
  outputLine(await git.run(['rev-parse', 'HEAD']));

export async function fileStamp(path: string): Promise<string | null> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  return found && stampOf(found);
}

interface Pack {
  file: string;
  objects: number;
}

/**
 * The agent's objects, hard-linked into a folder that the agent cannot write to. All objects are checked before they go
 * into the repository.
 */
class Objects {
  readonly #git: Git;
  readonly #agent: AgentGit;
  readonly #repository: string[];
  readonly #linked: string;
  #out: string | null = null;

  constructor(git: Git, agent: AgentGit, repository: string[]) {
    this.#git = git;
    this.#agent = agent;
    this.#repository = repository;
    this.#linked = join(agent.staging, 'objects');
  }

  get out(): string {
    return this.#out!;
  }

  /** Environment in which git also sees the agent's objects. */
  get staged(): Record<string, string> {
    return this.#with([this.#linked, ...this.#repository]);
  }

  #with = (alternates: readonly string[]): Record<string, string> => ({
    ...COMMITTER,
    GIT_OBJECT_DIRECTORY: this.out,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates.map(quoted).join(':'),
  });

  async stage(): Promise<void> {
    const { staging, objects } = this.#agent;
    await mkdir(this.#linked, { recursive: true, mode: 0o700 });
    for (const name of await readdir(staging))
      if (name.startsWith(OUT)) await rm(join(staging, name), { recursive: true, force: true });
    this.#out = await mkdtemp(join(staging, OUT));
    for (const name of ['pack', 'made']) await mkdir(join(this.out, name));
    const room = { files: MAX_FILES, bytes: MAX_STAGED_BYTES };
    const top = HostileFolder.use(objects, folder => folder.names()) ?? [];
    for (const name of top.filter(each => /^[0-9a-f]{2}$/.test(each))) {
      this.#link(name, /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/, room);
      await setImmediate();
    }
    // Packs come last: git writes a pack before it removes the loose objects that the pack contains.
    this.#link('pack', /^pack-[0-9a-f]{40,64}\.(pack|idx)$/, room);
    await this.#refuseHuge();
  }

  #link(name: string, wanted: RegExp, room: { files: number; bytes: number }): void {
    const target = join(this.#linked, name);
    HostileFolder.use(this.#agent.objects, objects =>
      objects.below(name, folder => {
        mkdirSync(target, { recursive: true });
        for (const each of folder.names().filter(file => wanted.test(file))) {
          const path = join(target, each);
          try {
            // Does not follow a symbolic link: the link itself is linked here, and removed below.
            linkSync(folder.path(each), path);
          } catch (error) {
            const { code } = error as NodeJS.ErrnoException;
            if (code === 'ENOENT') continue;
            if (NO_LINKS.has(code)) folder.copy(each, path);
            else if (code !== 'EEXIST') throw new GitError(`an object cannot be read (${code})`);
          }
          const found = lstatSync(path, { throwIfNoEntry: false });
          if (!found) continue;
          if (!found.isFile()) rmSync(path, { recursive: true });
          room.files -= 1;
          room.bytes -= found.size;
          if (room.files < 0 || room.bytes < 0)
            throw new GitError('it has too many objects, or too large ones');
        }
      }),
    );
  }

  async #refuseHuge(): Promise<void> {
    const args = [
      'cat-file',
      '--batch-all-objects',
      '--unordered',
      '--batch-check=%(objecttype) %(objectsize)',
    ];
    const env = { ...COMMITTER, GIT_OBJECT_DIRECTORY: this.#linked };
    const list = await this.#git.run(args, { ...ON_HOSTILE, env });
    for (const row of String(list).split('\n')) {
      const [type, size] = row.split(' ');
      if (Number(size) > (type === 'blob' ? MAX_BLOB_BYTES : MAX_OBJECT_BYTES))
        throw new GitError(`an object (${type}) has ${size} bytes, which is too large`);
    }
  }

  /** Returns those of these objects that exist and have this type. */
  async existing(oids: readonly string[], type: 'commit' | 'blob'): Promise<Set<string>> {
    if (oids.length === 0) return new Set();
    const input = Buffer.from([...new Set(oids)].map(oid => `${oid}\n`).join(''));
    const args = ['cat-file', '--batch-check=%(objecttype) %(objectname)'];
    const list = String(await this.#git.run(args, { ...ON_HOSTILE, input, env: this.staged }));
    const rows = list.split('\n').map(row => row.split(' '));
    return new Set(rows.flatMap(([is, oid]) => (is === type && OID.test(oid ?? '') ? [oid!] : [])));
  }

  /**
   * Packs the objects that the repository's refs do not have, after checking their content and links. Null if there are
   * none.
   */
  async pack(wanted: readonly string[], known: readonly string[]): Promise<Pack | null> {
    if (wanted.length === 0) return null;
    const isPartial = await this.#isPartial();
    const lines = (oids: readonly string[]) => oids.map(oid => `${oid}\n`).join('');
    const input = Buffer.from(`${lines(wanted)}--not\n${lines(known)}`);
    const options = ['--revs', '-q', '--non-empty', '--delta-base-offset'];
    const missing = isPartial ? ['--missing=allow-promisor'] : [];
    const made = join(this.out, 'made', 'pack');
    const name = outputLine(
      await this.#git.run([...ONE_THREAD, 'pack-objects', ...options, ...missing, made], {
        ...ON_HOSTILE,
        input,
        env: this.staged,
      }),
    );
    const env = this.#with(this.#repository);
    let pack: Pack | null = null;
    if (name !== '' && name !== NO_OBJECTS) {
      const [from, file] = [`${made}-${name}`, join(this.out, 'pack', `pack-${name}`)];
      const check = isPartial ? '--fsck-objects' : '--strict';
      const args = [...ONE_THREAD, 'index-pack', check, '-o', `${from}.idx`, `${from}.pack`];
      await this.#git.run(args, { ...ON_HOSTILE, env });
      for (const end of ['.pack', '.idx']) await rename(`${from}${end}`, `${file}${end}`);
      pack = { file: `${file}.pack`, objects: await countOf(`${file}.pack`) };
    }
    // From here on git sees only the objects of the pack, not the agent's own objects.
    const promised = isPartial ? ['--exclude-promisor-objects'] : [];
    const connected = ['rev-list', '--objects', '--quiet', ...promised, '--stdin', '--not', '--all'];
    await this.#git.run(connected, { ...ON_HOSTILE, env, input: Buffer.from(lines(wanted)) });
    return pack;
  }

  async #isPartial(): Promise<boolean> {
    const settings = await settingsOf(join(this.#git.folder.commonDir, 'config'), this.#git.env);
    return (settings ?? []).some(({ key }) => /^(remote\..+\.promisor|extensions\.partialclone)$/s.test(key));
  }

  async close(): Promise<void> {
    if (this.#out) await rm(this.#out, { recursive: true, force: true });
  }
}

const OUT = 'out-';

/** Quotes a path for a list of paths that git splits at colons. */
const quoted = (path: string): string =>
  /[:"]/.test(path) ? `"${path.replaceAll(/["\\]/g, '\\$&')}"` : path;

async function countOf(pack: string): Promise<number> {
  const file = await open(pack);
  try {
    const { buffer } = await file.read(Buffer.alloc(12), 0, 12, 0);
    return buffer.readUInt32BE(8);
  } finally {
    await file.close();
  }
}
