import type { TraceMessage } from '../../schema/conversation.ts';
import type { CliFacts, CliId, EngineSpec, InstalledCli } from '../../schema/engine-spec.ts';
import type { RunId } from '../../schema/ids.ts';
import type { PolicyRule, RunOptions, Usage } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { Command } from './turns.ts';

/** What an engine's line says, in words every engine shares. */
export type EngineEvent =
  | { type: 'text'; text: string }
  /** A tool call begins. `edits`: its purpose is to change a file. */
  | { type: 'tool'; name: string; detail: string; edits?: boolean }
  | { type: 'tool_end'; name: string; ok: boolean; denied?: boolean }
  /** Calls, all over, that were not told one by one. */
  | { type: 'more_tools'; calls: number; failed: number }
  /** Worth showing, and neither words of the agent nor a tool: a retry, a refused permission. */
  /** `retry`: the model's API failed and is to be asked again. `isForResult`: the result must say it, not only the log. */
  | { type: 'note'; text: string; retry?: ApiRetry; isForResult?: true }
  /** All of this turn so far: it replaces what was said before. Fields in `runningTotals` count from the chat's beginning. */
  | { type: 'usage'; usage: Usage; runningTotals?: readonly UsageFigure[] }
  | { type: 'chat'; id: string }
  | { type: 'model'; model: string }
  /** A whole message of the conversation, from an engine of which everything is kept. */
  | { type: 'message'; message: TraceMessage }
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
  | 'OUTPUT_MISMATCH'
  | 'OUTPUT_LIMIT'
  | 'CHAT_UNKNOWN'
  | 'TURN_LIMIT'
  | 'INPUT_UNREADABLE'
  | 'SANDBOX_MISSING';

export interface ApiRetry {
  code: EngineFailure;
  /** How long the engine waits before that; null: it does not say. */
  waitMs: number | null;
}

export type UsageFigure = 'input' | 'output' | 'cached' | 'costUsd';

/** Reads one turn's lines, first to last, and may remember. It never throws: a line it does not know is passed over. */
export interface EngineReader {
  line(line: string): EngineEvent[];
  /**
   * A line was too long to be read, and began like this. A reader whose answer may have been in it must not report another
   * text as the answer.
   */
  tooLong?(beginning: string): EngineEvent[];
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
  /** The work tree it is in, if it was made for the run, and the user's checkout it came from. */
  worktree: Pick<Worktree, 'path' | 'repository'> | null;
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

/** A chat that somebody takes over at a terminal. */
export interface InteractiveInput {
  chatId: string;
  /** What its agent was given. */
  env: Record<string, string>;
  files: Pick<TurnFiles, 'chatFolder' | 'writeInChat'>;
}

export interface InteractiveCommand {
  argv: [string, ...string[]];
  /** On top of what the agent was given. */
  env: Record<string, string>;
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
  /** Its own interactive mode on a chat, without anything of Squad's. Throws CHAT_UNKNOWN. Null: none that Squad knows of. */
  interactive: ((input: InteractiveInput) => Promise<InteractiveCommand>) | null;
  /** The model that the engine's own configuration names, for an engine whose events do not. Null: it names none. */
  configuredModel?(input: TurnInput): string | null;
  /**
   * For an engine whose usage counts from the beginning of a chat: changes whenever anybody uses the chat, also outside Squad.
   * Null: its record of the chat was not found.
   */
  chatMark?(chat: { chatId: string; env: Record<string, string> }): Promise<string | null>;
  /** Reads the engine's own events, or null when output is opaque and the exit code is all there is. */
  reader: (() => EngineReader) | null;
  /** Who holds each limit that these options ask for. */
  policy(options: RunOptions): PolicyRule[];
  /** Project files it reads by itself, which are not handed over a second time. */
  loadsItself: readonly string[];
  /** It hands Squad's own server to its agent; for one that does not, no token is made. */
  wantsEndpoint: boolean;
  /** Its agent cannot work without this variable, so it stays although the gateway keeps it for itself. */
  needsVariable(name: string): boolean;
  /** It makes sure of an output schema itself; otherwise the prompt asks for it. Squad checks the answer in any case. */
  takesSchema: boolean;
  /** Whether usage is reported while a turn runs, at its end, or never: what a budget can be held by. */
  usageIsReported: 'live' | 'at_end' | 'never';
}

export interface EngineChoice {
  spec: EngineSpec;
  /** Notes for the user: it was chosen because nothing was set, or its version is untried. */
  notes: string[];
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
  /**
   * A stored spec as its program is now: it may have been updated, downgraded or removed since. Throws ENGINE_NOT_FOUND,
   * ENGINE_NOT_EXECUTABLE or ENGINE_TOO_OLD.
   */
  refresh(spec: EngineSpec, env: Record<string, string>): Promise<EngineChoice>;
}
