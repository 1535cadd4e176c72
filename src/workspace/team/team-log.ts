import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  addToLog,
  entryLine,
  stateText,
  type TeamEntry,
  type TeamState,
  withState,
} from '../../core/team/state-files.ts';
import { appendTeamFile, homeTeamFolder, readTeamBytes, replaceTeamFile, teamFolder } from './team-file.ts';

export interface TeamLogOptions {
  /** Squad's home folder, which keeps the files of workspaces without `.squad`. */
  home: string;
  /** Reads the state for CONTEXT.md from the store, so that it is correct after a restart too. */
  stateOf(workspace: string): Promise<TeamState>;
  /** Called when a file could not be written, and not again until a write succeeds. Must not throw. */
  onError(file: string, reason: string): void;
}

/**
 * Keeps `IAC.md` and `CONTEXT.md` of every workspace up to date, in its `.squad` folder or else in Squad's home. Each
 * workspace has one writer. Recording never waits and never fails.
 */
export class TeamLog {
  readonly #options: TeamLogOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #reported = new Set<string>();

  constructor(options: TeamLogOptions) {
    this.#options = options;
  }

  record(workspace: string, entry: TeamEntry): void {
    this.#wake(workspace, [entry]);
  }

  /** Writes the state, which may have changed without a start or an end of a run. */
  refresh(workspace: string): void {
    this.#wake(workspace, []);
  }

  /** Resolves when everything recorded so far is written, or has failed. */
  async flush(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(({ next, writing }) => next ?? writing));
  }

  #wake(workspace: string, entries: TeamEntry[]): void {
    const queue = this.#queues.get(workspace) ?? { entries: [], next: null, writing: Promise.resolve() };
    this.#queues.set(workspace, queue);
    queue.entries = [...queue.entries, ...entries].slice(-MAX_WAITING);
    queue.next ??= this.#afterThis(workspace, queue);
  }

  /** Runs one write at a time. Entries that are recorded meanwhile go into the next write. */
  async #afterThis(workspace: string, queue: Queue): Promise<void> {
    // Runs of a squad start together, so their entries are written in one batch.
    await Promise.all([queue.writing, setImmediate()]);
    queue.next = null;
    const writing = this.#write(workspace, queue);
    queue.writing = writing;
    await writing;
    const isLast = queue.next === null && queue.writing === writing;
    if (isLast && queue.entries.length === 0) this.#queues.delete(workspace);
  }

  async #write(workspace: string, queue: Queue): Promise<void> {
    const entries = queue.entries;
    queue.entries = [];
    const own = await this.#attempt(join(workspace, '.squad'), () => teamFolder(workspace));
    const inHome = homeTeamFolder(this.#options.home, workspace);
    const folder = own?.done ?? inHome;
    const log = join(folder, 'IAC.md');
    const logged = await this.#attempt(log, async () => {
      if (folder === inHome) await mkdir(folder, { recursive: true, mode: 0o700 });
      else await moveLog(join(inHome, 'IAC.md'), log);
      await append(log, entries);
    });
    // Keeps the entries for the next write, because the disk may have been full.
    if (!logged) queue.entries = [...entries, ...queue.entries].slice(-MAX_WAITING);
    const context = join(folder, 'CONTEXT.md');
    await this.#attempt(context, async () => {
      const state = await this.#options.stateOf(workspace);
      const text = withState(asText(await readTeamBytes(context)), utf8AsLatin1(stateText(state)));
      await replaceTeamFile(context, asBytes(text));
    });
  }

  async #attempt<T>(file: string, action: () => Promise<T>): Promise<{ done: T } | null> {
    try {
      const done = await action();
      this.#reported.delete(file);
      return { done };
    } catch (thrown) {
      if (!this.#reported.has(file)) this.#options.onError(file, reasonOf(thrown));
      this.#reported.add(file);
      return null;
    }
  }
}

interface Queue {
  entries: TeamEntry[];
  /** The write after the current one. Null if nothing was recorded since the current write began. */
  next: Promise<void> | null;
  /** The current write, or the last one. */
  writing: Promise<void>;
}

/** Limit of waiting entries, so that a disk that stays full does not fill the memory as well. */
const MAX_WAITING = 1_000;

/** Moves the log to a workspace that now has a `.squad` folder. It becomes the beginning of the log there. */
async function moveLog(from: string, to: string): Promise<void> {
  const earlier = await readTeamBytes(from);
  if (earlier === null) return;
  if ((await readTeamBytes(to)) === null) await replaceTeamFile(to, earlier);
  await rm(dirname(from), { recursive: true, force: true });
}

async function append(file: string, entries: readonly TeamEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const change = addToLog(asText(await readTeamBytes(file)), entries.map(entryLine).map(utf8AsLatin1));
  if ('append' in change) await appendTeamFile(file, asBytes(change.append));
  else await replaceTeamFile(file, asBytes(change.replace));
}

/** One character per byte, so that text in any encoding stays unchanged. */
const asText = (bytes: Buffer | null): string | null => bytes?.toString('latin1') ?? null;
const asBytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf8AsLatin1 = (text: string): string => Buffer.from(text).toString('latin1');

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
