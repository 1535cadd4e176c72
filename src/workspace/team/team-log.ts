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
  /** Files of workspaces without `.squad` are kept in it. */
  home: string;
  /** Asked when CONTEXT.md is written: the store knows the state also after a restart. */
  stateOf(workspace: string): Promise<TeamState>;
  /** A file could not be written; told once until it can be again. Must not throw. */
  onTrouble(file: string, reason: string): void;
}

/**
 * Keeps `IAC.md` and `CONTEXT.md` of every workspace up to date: in its `.squad`, or in the home where it has none. One
 * writer for each workspace; whoever records never waits for it and never sees it fail.
 */
export class TeamLog {
  readonly #options: TeamLogOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #told = new Set<string>();

  constructor(options: TeamLogOptions) {
    this.#options = options;
  }

  record(workspace: string, entry: TeamEntry): void {
    this.#wake(workspace, [entry]);
  }

  /** The state changed without a start or an end, or may be out of date. */
  refresh(workspace: string): void {
    this.#wake(workspace, []);
  }

  /** Settles when everything recorded so far is written, or could not be. */
  async flush(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(({ next, writing }) => next ?? writing));
  }

  #wake(workspace: string, entries: TeamEntry[]): void {
    const queue = this.#queues.get(workspace) ?? { entries: [], next: null, writing: Promise.resolve() };
    this.#queues.set(workspace, queue);
    queue.entries = [...queue.entries, ...entries].slice(-MAX_WAITING);
    queue.next ??= this.#afterThis(workspace, queue);
  }

  /** One write at a time. Everything recorded meanwhile goes into the next one, so nobody waits for longer than two. */
  async #afterThis(workspace: string, queue: Queue): Promise<void> {
    // Runs of a squad start together: their entries come in one batch.
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
      else await carryOver(join(inHome, 'IAC.md'), log);
      await append(log, entries);
    });
    // Kept for the next time: the disk may have been full.
    if (!logged) queue.entries = [...entries, ...queue.entries].slice(-MAX_WAITING);
    const context = join(folder, 'CONTEXT.md');
    await this.#attempt(context, async () => {
      const state = await this.#options.stateOf(workspace);
      const text = withState(asText(await readTeamBytes(context)), ofText(stateText(state)));
      await replaceTeamFile(context, asBytes(text));
    });
  }

  async #attempt<T>(file: string, action: () => Promise<T>): Promise<{ done: T } | null> {
    try {
      const done = await action();
      this.#told.delete(file);
      return { done };
    } catch (thrown) {
      if (!this.#told.has(file)) this.#options.onTrouble(file, reasonOf(thrown));
      this.#told.add(file);
      return null;
    }
  }
}

interface Queue {
  entries: TeamEntry[];
  /** The write that begins when the one under way is over; null: nothing was recorded since that one began. */
  next: Promise<void> | null;
  /** The write under way, or the last one. */
  writing: Promise<void>;
}

/** A disk that stays full must not fill the memory too. */
const MAX_WAITING = 1_000;

/** What was logged before the workspace had its folder is the beginning of the log there. */
async function carryOver(from: string, to: string): Promise<void> {
  const earlier = await readTeamBytes(from);
  if (earlier === null) return;
  if ((await readTeamBytes(to)) === null) await replaceTeamFile(to, earlier);
  await rm(dirname(from), { recursive: true, force: true });
}

async function append(file: string, entries: readonly TeamEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const change = addToLog(asText(await readTeamBytes(file)), entries.map(entryLine).map(ofText));
  if ('append' in change) await appendTeamFile(file, asBytes(change.append));
  else await replaceTeamFile(file, asBytes(change.replace));
}

/** One character for each byte: what somebody else wrote goes through unchanged, in whatever encoding it is. */
const asText = (bytes: Buffer | null): string | null => bytes?.toString('latin1') ?? null;
const asBytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const ofText = (text: string): string => Buffer.from(text).toString('latin1');

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
