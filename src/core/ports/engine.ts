import type { AgentFailure } from '../../schema/agent-protocol.ts';
import type { TraceMessage } from '../../schema/conversation.ts';
import type { CliFacts, CliId, EngineSpec, InstalledCli } from '../../schema/engine-spec.ts';
import type { RunId } from '../../schema/ids.ts';
import type { PolicyRule, RunOptions, Usage } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { FoundClis } from './machines.ts';
import type { Command } from './turns.ts';

/** The content of an engine's output line, in a form that all engines share. */
export type EngineEvent =
  | { type: 'text'; text: string }
  /** The start of a tool call. `edits`: the call is meant to change a file. */
  | { type: 'tool'; name: string; detail: string; edits?: boolean }
  | { type: 'tool_end'; name: string; ok: boolean; denied?: boolean }
  /** Number of finished tool calls that have no `tool_end` event of their own. */
  | { type: 'more_tools'; calls: number; failed: number }
  /** An event that is worth showing but is neither text of the agent nor a tool call: a retry, a denied permission. */
  /**
   * `retry`: the model's API failed and will be called again. `isForResult`: the note belongs to the result, not only
   * to the log.
   */
  | { type: 'note'; text: string; retry?: ApiRetry; isForResult?: true }
  /** Usage of this turn so far; replaces earlier reports. Figures in `runningTotals` count from the beginning of the chat. */
  | { type: 'usage'; usage: Usage; runningTotals?: readonly UsageFigure[] }
  | { type: 'chat'; id: string }
  | { type: 'model'; model: string }
  /** A complete message, from an engine whose conversations are stored. */
  | { type: 'message'; message: TraceMessage }
  | EngineEnd;

/** The engine's own report of its end. A turn without one did not succeed, whatever its exit code. */
export interface EngineEnd {
  type: 'end';
  ok: boolean;
  answer: string;
  error: string | null;
  code?: EngineFailure;
  /** When the usage limit that ended the turn is reset. Absent if there was none, or the engine does not say it. */
  reset?: LimitReset;
  /** The answer as a value, from engines that check the schema themselves. */
  structured?: unknown;
}

export type EngineFailure = AgentFailure | 'BUDGET_EXCEEDED' | 'CHAT_UNKNOWN';

/**
 * When a usage limit is reset: a time in milliseconds, a time after the report, or what a clock shows then. `zone` is null
 * for the zone of the machine.
 */
export type LimitReset =
  | { at: number }
  | { afterMs: number }
  | {
      date?: { year?: number; month: number; day: number };
      hour: number;
      minute: number;
      zone: string | null;
    };

export interface ApiRetry {
  code: EngineFailure;
  /** How long the engine waits before it retries. Null if it does not say. */
  waitMs: number | null;
}

export type UsageFigure = 'input' | 'output' | 'cached' | 'costUsd';

/** Reads the lines of one turn, in order; may keep state. Never throws: unknown lines are ignored. */
export interface EngineReader {
  line(line: string): EngineEvent[];
  /**
   * Called for a line that was too long to read; `beginning` is its start. If the line may have contained the answer,
   * the reader must not report another text as the answer.
   */
  tooLong?(beginning: string): EngineEvent[];
  /**
   * Called after the end of the process and its output. `file` reads the last 64 KiB of one of the turn's files, and
   * returns null if the file is missing or empty.
   */
  finish?(exit: {
    exitCode: number | null;
    file(name: string): Promise<string | null>;
  }): Promise<EngineEvent[]>;
}

/** A tool call for which the agent asks permission. */
export interface EngineAsk {
  /** The engine's id for the question. It is unique within the turn. */
  id: string;
  tool: string;
  input: Readonly<Record<string, unknown>>;
  /** Set if the engine wants values from the user instead of a permission: a form as in MCP's `elicitation/create`. */
  form?: Readonly<Record<string, unknown>>;
}

/** Answer to a question of an engine, with the values of its form. `why` is a message for the model. */
export type EngineAnswer =
  | { isGiven: true; values?: Readonly<Record<string, unknown>> }
  | { isGiven: false; why: string };

export type DriverEvent =
  | { type: 'asked'; ask: EngineAsk }
  /** The agent no longer waits for the answer. */
  | { type: 'withdrawn'; id: string }
  /** Lines to send to the agent without asking anybody: a step of the handshake, or a refusal. */
  | { type: 'send'; lines: string[] };

/** Facts about a turn from which a driver builds its lines. */
export type DriverStart = Pick<
  TurnInput,
  'prompt' | 'cwd' | 'model' | 'chatId' | 'continues' | 'options' | 'endpoint'
>;

/**
 * Protocol of an agent CLI that reads lines while it works. A driver has no state except what follows from the lines of
 * both sides, so that the next hub can rebuild it from these lines. `sent` gets every line of Squad before `read` gets
 * the agent's reaction to that line. Neither function throws, and both ignore unknown lines.
 */
export interface Driver {
  /** Returns the lines with which a turn begins. */
  open(): string[];
  answer(ask: EngineAsk, answer: EngineAnswer): string[];
  /** False until the agent can get messages. */
  readonly isReady: boolean;
  /** False until the agent may have got its prompt. */
  readonly hasBegun: boolean;
  /**
   * Returns the lines for a message to the agent. The agent reads the message as soon as it can. `id` is a UUID. Null if
   * a message would end what the agent does.
   */
  say(id: string, text: string): string[] | null;
  /** Returns the lines that interrupt the agent. The agent then continues with the waiting messages. */
  interrupt(id: string): string[];
  sent(line: string): void;
  read(line: string): DriverEvent[];
  /** Takes the beginning of a line that was too long to read completely. */
  tooLong(beginning: string): DriverEvent[];
  /** Ids of messages that the agent has not read yet. */
  readonly waiting: ReadonlySet<string>;
  /** True if the agent has finished all its work and waits for more input. */
  readonly isIdle: boolean;
  /** True if the agent does not exit when its input ends. */
  readonly staysOpen?: boolean;
}

/** Address of Squad for an agent, and the token that identifies its run. */
export interface RunEndpoint {
  url: string;
  token: string;
  /** Alternative to HTTP: a stdio server for this run. The token is in the file that its arguments name. */
  relay: { command: string; args: string[] };
}

/** Name of Squad's own MCP server in every engine. */
export const SQUAD_SERVER = 'squad';

/** Files that an engine needs for its command. A dry run writes nothing. */
export interface TurnFiles {
  path(name: string): string;
  /** Writes a file that only the user can read. Returns its path. */
  write(name: string, content: string): Promise<string>;
  /** A folder that the engine keeps as long as the chat exists. */
  chatFolder: string;
  writeInChat(name: string, content: string): Promise<string>;
}

export interface TurnInput {
  runId: RunId;
  /** Id of the role. Empty for a run without a role. */
  roleId: string;
  task: string;
  prompt: string;
  promptFile: string;
  cwd: string;
  /** The run's own work tree, and the user's checkout that it was created from. */
  worktree: Pick<Worktree, 'path' | 'repository'> | null;
  model: string | null;
  chatId: string | null;
  /** False in the first turn of a chat. */
  continues: boolean;
  env: Record<string, string>;
  options: RunOptions;
  timeoutMs: number;
  /**
   * Address of Squad for the agent. Null if Squad cannot be reached over HTTP, so that the agent works without
   * Squad's tools.
   */
  endpoint: RunEndpoint | null;
  files: TurnFiles;
}

/** A chat that a person takes over in a terminal. */
export interface InteractiveInput {
  chatId: string;
  /** Environment that the agent had in the run. */
  env: Record<string, string>;
  files: Pick<TurnFiles, 'chatFolder' | 'writeInChat'>;
}

export interface InteractiveCommand {
  argv: [string, ...string[]];
  /** Variables that are added to the environment of the agent. */
  env: Record<string, string>;
}

export interface Engine {
  /** Name in results and listings: `claude`, `scripted`, `template`, or the name of a custom engine. */
  id: string;
  /** Builds the command of one turn. Throws if it cannot be built. */
  command(input: TurnInput): Promise<Command>;
  /**
   * How a chat begins. `minted`: the engine accepts an id that Squad chose, or null if it chooses the id itself with
   * these options. `command`: a program prints the id as its
   * last non-empty line. `reported`: the engine chooses an id and reports it as an event. Null if the engine has no
   * chats.
   */
  newChat:
    | { kind: 'minted'; mint(options: RunOptions): string | null }
    | { kind: 'command'; command(input: TurnInput): Promise<Command> }
    | { kind: 'reported' }
    | null;
  /**
   * Command for the engine's interactive mode on a chat. Throws CHAT_UNKNOWN. Null if the engine has no such mode that
   * Squad knows.
   */
  interactive: ((input: InteractiveInput) => Promise<InteractiveCommand>) | null;
  /**
   * The model in the engine's own configuration, for an engine whose events do not name it. Null if none is configured.
   */
  configuredModel?(input: TurnInput): string | null;
  /**
   * For an engine whose usage counts from the beginning of a chat: a value that changes whenever the chat is used, even
   * outside Squad. Null if the engine's record of the chat was not found.
   */
  chatMark?(chat: { chatId: string; env: Record<string, string> }): Promise<string | null>;
  /**
   * Creates a reader of the engine's events. Null if the output is plain text, so that only the exit code shows how
   * the turn ended.
   */
  reader: (() => EngineReader) | null;
  /** True if the engine has no other turns than fed ones. */
  isAlwaysFed?: true;
  /** Creates the driver of a fed turn. The endpoint is only needed for the first lines. */
  driver?(start: DriverStart): Driver;
  /** Lists who enforces each limit in these options. */
  policy(options: RunOptions): PolicyRule[];
  /** Project files that the engine reads on its own, so that Squad does not send them too. */
  loadsItself: readonly string[];
  /** True if the engine passes Squad's own MCP server to its agent. Otherwise no token is created. */
  wantsEndpoint: boolean;
  /**
   * Whether the agent cannot work without this variable. Such a variable is passed to the agent even if the gateway
   * uses it too.
   */
  needsVariable(name: string): boolean;
  /**
   * True if the engine enforces an output schema itself. Otherwise the prompt asks for it. Squad checks the answer in
   * either case.
   */
  takesSchema: boolean;
  /** When usage is reported, which decides whether a budget can be enforced. */
  usageIsReported: 'live' | 'at_end' | 'never';
  sandbox(input: Pick<TurnInput, 'env' | 'model' | 'cwd' | 'options'>): SandboxNeeds;
  /**
   * Why the engine is sandboxed only on request, or never. Null if it is sandboxed by default. The reason has no full
   * stop.
   */
  sandboxLimit: { kind: 'on_request' | 'never'; reason: string } | null;
}

/** Files, hosts and variables that an engine's program needs in a sandbox, beside the run's folder and files that Squad writes for it. */
export interface SandboxNeeds {
  /** Files and folders of the program and of its interpreter. Mounted read-only at their own paths. */
  programs: string[];
  /** Existing files of the program's login and configuration. */
  login: LoginFile[];
  /** Variables that name folders outside the sandbox. They are removed, and the program finds its files in HOME. */
  drops: readonly string[];
  /** True if the run's folder must not be writable, whatever the run's permission is. */
  isReadOnly?: boolean;
  /** Names of folders in the turn's folder that the program writes to. */
  writes: readonly string[];
  /** Hosts of the program's API, for `network: models`. */
  hosts: string[];
}

export interface LoginFile {
  from: string;
  /** Path inside the sandbox. */
  path: string;
  /**
   * True if the program replaces the file, which a mount does not allow. A copy is put into the chat's HOME before
   * each turn.
   */
  isCopied?: true;
}

/** A chat that an agent CLI keeps for a folder, as the CLI's own files describe it. */
export interface SavedChat {
  engine: CliId;
  id: string;
  /** The beginning of its first prompt, or the title that the CLI or the user gave it. Null if none was found. */
  title: string | null;
  changedAt: number;
  /** File that changes whenever the chat is used. Null if the CLI keeps all its chats in one file. */
  file: string | null;
  /** Process that has the chat open. Null if no process was found. */
  openIn: { pid: number; command: string } | null;
}

/**
 * How a CLI continues a chat that the user began. `continues`: only the chat itself. `forks`: the chat itself, or a fork
 * with an id of its own. `copies`: always a copy that Squad keeps.
 */
export type ChatAdoption = 'continues' | 'forks' | 'copies';
export type ChatFiles = Pick<TurnFiles, 'chatFolder' | 'writeInChat'>;

export interface EngineChoice {
  spec: EngineSpec;
  /** Notes for the user: the engine was chosen because none is set, or its version is untested. */
  notes: string[];
}

export interface Engines {
  create(spec: EngineSpec): Engine;
  /**
   * Finds the agent CLI with that name or command. Null if there is none. Throws ENGINE_TOO_OLD. Here and below, `on`
   * are the CLIs of another machine, which are searched instead of the PATH.
   */
  find(nameOrCommand: string, env: Record<string, string>, on?: FoundClis): Promise<InstalledCli | null>;
  /** All installed agent CLIs, in order of preference. */
  installed(env: Record<string, string>, on?: FoundClis): Promise<InstalledCli[]>;
  /** Whether a program of that CLI exists. Does not start the program. */
  isPresent(cli: CliId, env: Record<string, string>): boolean;
  /**
   * Chats that the installed agent CLIs keep for this folder, newest first. `notes` name CLIs whose chats could not be
   * read.
   */
  savedChats(folder: string, env: Record<string, string>): Promise<{ chats: SavedChat[]; notes: string[] }>;
  chatAdoption(cli: CliId): ChatAdoption;
  /** Copies a chat of the user into the folder that Squad keeps for it. Only for a CLI whose `ChatAdoption` is `copies`. */
  copyChat(chat: SavedChat, folder: string, files: ChatFiles): Promise<void>;
  /** All supported agent CLIs, in order of preference. */
  clis(): CliFacts[];
  /** Possible names of the programs of agent CLIs. */
  programs(): { cli: CliId; programs: readonly string[] }[];
  /**
   * A stored spec with the current state of its program, which may have been updated, downgraded or removed. Throws
   * ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE or ENGINE_TOO_OLD.
   */
  refresh(spec: EngineSpec, env: Record<string, string>, on?: FoundClis): Promise<EngineChoice>;
}
