/**
 * What the core needs from the world. Adapters live in other folders and are put together in `src/app.ts`;
 * nothing in `src/core` opens a file, starts a process or reads a clock.
 */
import type { AgentTemplate } from '../schema/agent-template.ts';
import type { Config } from '../schema/config.ts';
import type { CliFacts, CliId, EngineSpec, InstalledCli } from '../schema/engine-spec.ts';
import type { Event, NewEvent } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Role } from '../schema/role.ts';
import type {
  Chat,
  JsonSchema,
  Leftover,
  PolicyRule,
  Run,
  RunOptions,
  Squad,
  Turn,
  Usage,
} from '../schema/run.ts';
import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../schema/work.ts';
import type { Context } from './context.ts';
import type { RunIdentity } from './policy.ts';

export interface Clock {
  now(): number;
}

/** Rows to write whole (insert or replace, by key) and events to append: all of it or none of it. */
export interface Change {
  squads?: Squad[];
  runs?: Run[];
  turns?: Turn[];
  /** Of a chat that is there: its beginning stays, and so do its totals where none are given. */
  chats?: Chat[];
  events: NewEvent[];
}

export interface RunFilter {
  workspace?: string;
  squadId?: SquadId;
  /** Those that this run asked for. */
  parentId?: RunId;
  status?: Run['status'][];
  /** Only runs created before this moment, for paging backwards. */
  before?: number;
  limit: number;
}

export interface EventFilter {
  after?: number;
  runId?: RunId;
  squadId?: SquadId;
  types?: Event['body']['type'][];
  limit: number;
  /** Newest first. */
  reverse?: boolean;
}

export interface Store {
  /** Changes are applied in the order given, several to a transaction; the promise settles when this one is on disk. */
  commit(change: Change): Promise<void>;
  squad(id: SquadId): Promise<Squad | null>;
  run(id: RunId): Promise<Run | null>;
  /** Newest first, except within a squad, where it is member order. */
  runs(filter: RunFilter): Promise<Run[]>;
  /** Every run that has not ended, oldest first. */
  liveRuns(): Promise<Run[]>;
  /** The turns of a run, first to last. */
  turns(runId: RunId): Promise<Turn[]>;
  chat(id: string): Promise<Chat | null>;
  events(filter: EventFilter): Promise<Event[]>;
  /** Run and squad ids that begin with `prefix` (with or without `run_` / `squad_`), newest first. */
  idsLike(prefix: string, limit: number): Promise<string[]>;
  /** Ids of the most recent runs and squads, to suggest near ones from. */
  recentIds(limit: number): Promise<string[]>;
  /** The money of runs that were asked for since then, or of a squad, as far as it is known. */
  spent(filter: { since?: number; squadId?: SquadId }): Promise<number>;
  settings(): Promise<Record<string, string>>;
  setSetting(key: string, value: string | null): Promise<void>;
  /** Runs that ended at this moment or later. */
  endedSince(since: number, limit: number): Promise<Run[]>;
  /** Ended runs that ended before `before`, oldest first. */
  endedBefore(before: number, limit: number): Promise<Run[]>;
  /** Removes the rows of these runs, their events, and squads and chats that nothing refers to any more. */
  forget(runIds: RunId[]): Promise<void>;
  /** Called after each committed change with its events, numbered. Returns how to stop. */
  onEvents(listener: (events: Event[]) => void): () => void;
  /** Settles when everything committed so far is on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** A program to start: no shell, one value one argument. */
export interface Command {
  argv: [string, ...string[]];
  /** A file given as standard input; null is /dev/null. */
  stdin: string | null;
  env: Record<string, string>;
}

export interface TurnRef {
  runId: RunId;
  number: number;
}

export interface TurnStart extends TurnRef {
  command: Command;
  cwd: string;
  /** The wrapper ends the whole group this long after the start even if no hub is alive. */
  hardLimitMs: number;
}

export interface TurnEnd {
  /** As a shell says it: 128 + n for signal n. Null when nobody saw the exit. */
  exitCode: number | null;
  /** The shell could not start the program: its own words. */
  spawnError: string | null;
  /** What the turn left behind after its own end and Squad ended; empty after a stop, which is the end of all of it. */
  leftovers: Leftover[];
  /** When the wrapper saw the exit, or when it was found gone. */
  endedAt: number;
}

export interface LiveTurn {
  pid: number;
  /** Settles once the turn is over: its exit was seen, or its whole tree is proven gone. Never rejects. */
  ended: Promise<TurnEnd>;
  /** TERM, grace, KILL, to everything that belongs to the turn. Idempotent. */
  stop(graceMs: number): void;
  /** What its processes do just now. Costs a look at the process table: for turns that have been quiet. */
  vitals(): Promise<Vitals>;
}

/** What a turn's processes show at one moment, the wrapper around them left out. */
export interface Vitals {
  /** The agent's own process is there and not a zombie. */
  alive: boolean;
  /** It is held by a signal (SIGSTOP, or a terminal it may not use). */
  stopped: boolean;
  /** Used so far by all of them and by those they have waited for. */
  cpuMs: number;
  /** Read and written so far; null where the system does not say. */
  ioBytes: number | null;
  processes: number;
}

/** The files a run works on. Needs git to say anything; never throws except from `diff`. */
export interface WorkTree {
  /** One short git process, because it is on the way to an agent's start. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot): Promise<WorkChanges>;
  /** Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: { maxBytes: number }): Promise<WorkDiff>;
}

/** What a turn left on disk, as the next hub finds it. */
export type FoundTurn =
  | { state: 'live'; turn: LiveTurn; startedAt: number }
  | { state: 'ended'; end: TurnEnd; startedAt: number }
  /** Its wrapper never got as far as starting the agent: safe to start. */
  | { state: 'never_started' }
  /** It was started; no process and no exit record are left. */
  | { state: 'gone'; end: TurnEnd; startedAt: number };

export interface TurnOptions {
  keepLeftovers: boolean;
}

export interface Executor {
  /** Throws SPAWN_FAILED when not even the wrapper can be started. */
  start(turn: TurnStart, options: TurnOptions): Promise<LiveTurn>;
  find(turn: TurnRef, options: TurnOptions): Promise<FoundTurn>;
}

export type OutputStream = 'stdout' | 'stderr';

export interface OutputPage {
  text: string;
  /** Byte offset of the first byte of `text`, moved to a character's start. */
  offset: number;
  /** Where the next page begins; equal to `size` at the end. */
  nextOffset: number;
  size: number;
}

/** The files of a run: its prompt, its environment while it lives, and every byte its turns wrote. */
export interface RunFiles {
  /** Makes the folders of a new turn and writes its prompt; returns the prompt's path. */
  prepare(turn: TurnRef, prompt: string): Promise<{ promptFile: string }>;
  /** Where a file of a turn is, or would be. */
  path(turn: TurnRef, name: string): string;
  /** Any other file of a turn (a config an engine needs), readable by the user only; returns its path. */
  write(turn: TurnRef, name: string, content: string): Promise<string>;
  /** A file written before, or null. */
  read(turn: TurnRef, name: string): Promise<string | null>;
  /** The last `limit` bytes of a file somebody else may have written, cut at a character's start; null without any. */
  readEnd(turn: TurnRef, name: string, limit: number): Promise<string | null>;
  /** The folder an engine has for a chat, and a file in it. */
  chatFolder(engine: string, chatId: string): string;
  writeInChat(engine: string, chatId: string, name: string, content: string): Promise<string>;
  saveEnvironment(runId: RunId, env: Record<string, string>): Promise<void>;
  environment(runId: RunId): Promise<Record<string, string>>;
  dropEnvironment(runId: RunId): Promise<void>;
  outputPath(turn: TurnRef, stream: OutputStream): string;
  size(turn: TurnRef, stream: OutputStream): Promise<number>;
  /** At most `limit` bytes from `offset`, cut at character boundaries; a negative offset counts from the end. */
  page(turn: TurnRef, stream: OutputStream, offset: number, limit: number): Promise<OutputPage>;
  /**
   * Calls back with each complete line as it is written, until `stop` is called, which reads what is left first.
   * `dropped`: how many lines were left out so far because they were too long.
   */
  follow(
    turn: TurnRef,
    stream: OutputStream,
    onLine: (line: string) => void,
  ): { stop(): Promise<void>; dropped(): number };
  saveAnswer(runId: RunId, answer: string): Promise<void>;
  answer(runId: RunId): Promise<string | null>;
  /** A structured answer that was checked against its schema. */
  saveStructured(runId: RunId, value: unknown): Promise<void>;
  structured(runId: RunId): Promise<unknown>;
  /** Every run that has a folder, and when the folder last changed. */
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Removes everything of the run; returns the bytes freed. */
  remove(runId: RunId): Promise<number>;
  /** Every chat that has a folder: its id, or the id of the run it was opened for, where that can be a name. */
  listChats(): Promise<{ engine: string; chatId: string; changedAt: number }[]>;
  removeChat(engine: string, chatId: string): Promise<number>;
}

/** What an engine's line says, in words every engine shares. */
export type EngineEvent =
  | { type: 'text'; text: string }
  /** A tool call begins. `edits`: its purpose is to change a file. */
  | { type: 'tool'; name: string; detail: string; edits?: boolean }
  | { type: 'tool_end'; name: string; ok: boolean; denied?: boolean }
  /** Worth showing, and neither words of the agent nor a tool: a retry, a refused permission. */
  | { type: 'note'; text: string }
  /** All of this turn so far: it replaces what was said before. Fields in `runningTotals` count from the chat's beginning. */
  | { type: 'usage'; usage: Usage; runningTotals?: readonly UsageFigure[] }
  | { type: 'chat'; id: string }
  | { type: 'model'; model: string }
  | EngineEnd;

/** The engine's own report of its end. Without it a turn is not counted as done, whatever its exit code. */
export interface EngineEnd {
  type: 'end';
  ok: boolean;
  answer: string;
  error: string | null;
  /** What kind of failure it is, where that can be told. */
  code?: EngineFailure;
  /** The answer as a value, from engines that check a schema themselves. */
  structured?: unknown;
}

export type EngineFailure =
  | 'ENGINE_FAILED'
  | 'ENGINE_NOT_LOGGED_IN'
  | 'ENGINE_RATE_LIMITED'
  | 'BUDGET_EXCEEDED'
  | 'CHAT_UNKNOWN';

export type UsageFigure = 'input' | 'output' | 'cached' | 'costUsd';

/** Reads one turn's lines, first to last, and may remember. It never throws: a line it does not know is passed over. */
export interface EngineReader {
  line(line: string): EngineEvent[];
  /** The output is over and the process has ended: what only that tells. `file` reads the last 64 KiB of one of the turn's files, null if there is nothing. */
  finish?(exit: {
    exitCode: number | null;
    file(name: string): Promise<string | null>;
  }): Promise<EngineEvent[]>;
}

/** Where an agent finds Squad, and what it shows to be known as its run. */
export interface RunEndpoint {
  url: string;
  token: string;
  /** The second way: a stdio server that speaks for the run. The token is in the file named by its arguments. */
  relay: { command: string; args: string[] };
}

/** The name under which every engine knows Squad's own server. */
export const SQUAD_SERVER = 'squad';

/** Files an engine needs beside its command. In a rehearsal nothing is written. */
export interface TurnFiles {
  /** Where a file of this turn is, or will be. */
  path(name: string): string;
  /** Readable by the user only; returns its path. */
  write(name: string, content: string): Promise<string>;
  /** A folder of this engine that lives as long as the chat. */
  chatFolder: string;
  writeInChat(name: string, content: string): Promise<string>;
}

export interface TurnInput {
  runId: RunId;
  /** Empty for a bare prompt. */
  roleId: string;
  task: string;
  prompt: string;
  promptFile: string;
  cwd: string;
  model: string | null;
  chatId: string | null;
  /** False on the first turn of a chat. */
  continues: boolean;
  env: Record<string, string>;
  options: RunOptions;
  timeoutMs: number;
  /** Null when Squad cannot be reached over HTTP; the agent then works without. */
  endpoint: RunEndpoint | null;
  files: TurnFiles;
}

export interface Engine {
  /** What results and listings call it: `claude`, `scripted`, `template`, or the name of the user's own. */
  id: string;
  /** The command of one turn. Throws before anything is started if it cannot be built. */
  command(input: TurnInput): Promise<Command>;
  /**
   * How a chat begins. `minted`: the engine takes an id we choose. `command`: a program prints the id as its last
   * non-empty line. `reported`: the engine chooses and says so in its events. Null: this engine keeps no chats.
   */
  newChat:
    | { kind: 'minted'; mint(): string }
    | { kind: 'command'; command(input: TurnInput): Promise<Command> }
    | { kind: 'reported' }
    | null;
  /** Reads the engine's own events, or null when output is opaque and the exit code is all there is. */
  reader: (() => EngineReader) | null;
  /** Who holds each limit that these options ask for. */
  policy(options: RunOptions): PolicyRule[];
  /** Project files it reads by itself, which are not handed over a second time. */
  loadsItself: readonly string[];
  /** It hands Squad's own server to its agent; for one that does not, no token is made. */
  wantsEndpoint: boolean;
  /** It makes sure of an output schema itself; otherwise the prompt asks for it. Squad checks the answer in any case. */
  takesSchema: boolean;
  /** Whether usage is reported while a turn runs, at its end, or never: what a budget can be held by. */
  usageIsReported: 'live' | 'at_end' | 'never';
}

export interface Engines {
  create(spec: EngineSpec): Engine;
  /** The agent CLI of that name or command, or null. Throws ENGINE_TOO_OLD. */
  find(nameOrCommand: string, env: Record<string, string>): Promise<InstalledCli | null>;
  /** Every agent CLI there is, in the order of preference. */
  installed(env: Record<string, string>): Promise<InstalledCli[]>;
  /** Whether a program of that CLI is there; it is not started. */
  isPresent(cli: CliId, env: Record<string, string>): boolean;
  /** Every agent CLI there could be, in the same order. */
  clis(): CliFacts[];
  /** False when the program of a stored spec is gone. */
  canStart(spec: EngineSpec): boolean;
}

/** Who asks, as the hub knows it from the hello or the request. */
export interface Caller {
  client: string | null;
  cwd: string | null;
  /** `--workspace`, or the header of an HTTP request. */
  workspace: string | null;
  env: Record<string, string>;
  /** The run this caller is part of, when it was started inside one. */
  parent: RunIdentity | null;
}

/** One workspace as one caller sees it, read afresh for each call. */
export interface Workspace {
  root: string;
  config: Config;
  /** Where the roles come from, and why there. */
  rolesFolder: { folder: string; reason: string };
  /** Values that came with the repository and wait for the user's trust. */
  ignored: IgnoredSetting[];
  roles(): Promise<Role[]>;
  /** Throws ROLE_UNKNOWN or ROLE_INVALID. */
  role(id: string): Promise<Role>;
  /**
   * The engine of that name, or with null the configured one, or else the first agent CLI that is installed.
   * Throws ENGINE_NOT_SET, ENGINE_UNKNOWN or ENGINE_TOO_OLD.
   */
  engine(name: string | null, env: Record<string, string>): Promise<EngineChoice>;
  /** A JSON Schema from a file in the workspace. Throws SCHEMA_INVALID. */
  outputSchema(file: string): Promise<JsonSchema>;
  /** What the project's own files say, for an agent that does not read them itself. Throws CONTEXT_MISSING. */
  context(wanted: true | string[], loadedByEngine: readonly string[]): Promise<Context>;
  /** The folder an agent works in: absolute, links resolved, inside the workspace or an allowed root. */
  directory(cwd: string | undefined): Promise<string>;
  /** A file of `.squad/` that Squad keeps up to date; null when there is none. */
  teamFile(name: 'IAC.md' | 'CONTEXT.md'): Promise<string | null>;
  /** Files that came with the workspace and have no effect, or not all of it, until they are trusted. */
  untrusted(): Promise<string[]>;
}

export interface EngineChoice {
  spec: EngineSpec;
  /** What the user should know about it: chosen for want of a setting, an untried version. */
  notes: string[];
}

export interface IgnoredSetting {
  file: string;
  key: string;
  reason: string;
}

export interface Workspaces {
  open(caller: Caller): Promise<Workspace>;
  /** Templates of the workspace, the user and Squad itself; without a workspace those of the other two. */
  templates(caller: Caller, kind: 'tool' | 'prompt'): Promise<AgentTemplate[]>;
  /** The environment an agent of this caller gets; `keep` names what would otherwise be left out as another session's. */
  environment(caller: Caller, keep?: string[]): Promise<Record<string, string>>;
}
