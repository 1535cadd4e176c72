import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import type { RunId } from '../../schema/ids.ts';
import type { RunRecord } from '../runs/run-record.ts';
import type { TurnRef } from './turns.ts';

export type OutputStream = 'stdout' | 'stderr';

export interface OutputPage {
  text: string;
  /** Byte offset at which `text` starts. Always the start of a character. */
  offset: number;
  /** Byte offset of the next page; equal to `size` at the end. */
  nextOffset: number;
  size: number;
}

/** A line of an output and its byte offset. */
export const OutputPlace = z.object({
  /**
   * Line number from 1. For a place after the end, the number of the last line. Null if there is no output, or if the
   * line was not found yet.
   */
  line: z.number().nullable(),
  offset: z.number().nullable(),
  /** Number of lines. Null if the output has not been read completely. */
  lines: z.number().nullable(),
  /** False if the time limit was reached before the end. The next call continues from there. */
  isComplete: z.boolean(),
});
type OutputPlace = z.infer<typeof OutputPlace>;

export interface OutputQuery {
  q: string;
  /**
   * True if the text is a regular expression. Only the beginning of a long line is matched. Throws an error with code
   * PATTERN_INVALID or PATTERN_TOO_SLOW.
   */
  isRegex: boolean;
  isCaseSensitive: boolean;
  /** Byte offset of the line at which the search starts. */
  after: number;
  limit: number;
  budgetMs: number;
  /** Extracts the text to search from a line. Null to search the line itself. */
  words: ((line: string) => string) | null;
}

export interface OutputMatches {
  /** Matches, at most one per line. Lines count from 1 at `after`; colours are removed from the text. */
  matches: { line: number; offset: number; text: string; column: number }[];
  /** Byte offset to continue from. Null if the search has reached the end. */
  next: number | null;
}

/** A host that an agent in a sandbox asked for and was refused. */
export interface RefusedHost {
  at: number;
  host: string;
  port: number;
  /** `private_address` means that the host matches only a pattern and that its address is in a private network. */
  why: 'not_listed' | 'private_address';
}

export interface Following {
  /** Reads new lines without delay, until the returned function is called. */
  hurry(): () => void;
  stop(): Promise<void>;
}

/** The files of a run: its prompt, its environment (until the run ends), and the output of its turns. */
export interface RunFiles {
  /** Creates the folders of a new turn and writes its prompt. */
  prepare(turn: TurnRef, prompt: string): Promise<{ promptFile: string }>;
  path(turn: TurnRef, name: string): string;
  /**
   * Hosts that the sandbox refused in this turn: each host once, at most 200. Empty if the turn's network is not
   * limited.
   */
  refusedHosts(turn: TurnRef): Promise<RefusedHost[]>;
  /** Whether the sandbox of the turn has lost its network, so that the agent can reach no host any more. */
  isCutOff(turn: TurnRef): boolean;
  /** Writes any other file of a turn, readable by the user only. Returns the path. */
  write(turn: TurnRef, name: string, content: string): Promise<string>;
  /** Writes text at a byte offset of an existing file. Repeating the same write changes nothing. */
  writeAt(turn: TurnRef, name: string, offset: number, content: string): Promise<void>;
  /** Reads a file of a turn. Null if it does not exist. */
  read(turn: TurnRef, name: string): Promise<string | null>;
  /**
   * The last `limit` bytes of a file that the agent may have written, beginning at a whole character. Null if the file
   * is missing or empty.
   */
  readEnd(turn: TurnRef, name: string, limit: number): Promise<string | null>;
  chatFolder(engine: string, chatId: string): string;
  writeInChat(engine: string, chatId: string, name: string, content: string): Promise<string>;
  /** HOME of the agents that use this chat in a sandbox. */
  chatHome(engine: string, chatId: string): string;
  /** Whether the chat was started in a sandbox. */
  hasChatHome(engine: string, chatId: string): boolean;
  /** Renames a chat's folder to the chat's id, once the engine has reported the id. */
  nameChat(engine: string, before: string, chatId: string): Promise<void>;
  saveEnvironment(runId: RunId, env: Record<string, string>): Promise<void>;
  environment(runId: RunId): Promise<Record<string, string>>;
  /** Stores values that only the gateway gets, not the agent. */
  saveVariables(runId: RunId, variables: Record<string, string>): Promise<void>;
  variables(runId: RunId): Promise<Record<string, string>>;
  /** Deletes the stored environment and variables. */
  dropEnvironment(runId: RunId): Promise<void>;
  outputPath(turn: TurnRef, stream: OutputStream): string;
  /**
   * Opens an output for reading it completely; the caller closes it. `linked`: refused, because a symbolic or hard link
   * could lead out of the run's folder.
   */
  openOutput(turn: TurnRef, stream: OutputStream): Promise<FileHandle | 'absent' | 'linked'>;
  size(turn: TurnRef, stream: OutputStream): Promise<number>;
  /** Time of the last output. Null if there is none yet. */
  wroteAt(turn: TurnRef): Promise<number | null>;
  /**
   * At most `limit` bytes from `offset`, cut at character boundaries; a negative offset counts from the end. With
   * `isWholeLines` the page starts and ends at line ends, unless a single line is longer than the page.
   */
  page(
    turn: TurnRef,
    stream: OutputStream,
    offset: number,
    limit: number,
    isWholeLines?: boolean,
  ): Promise<OutputPage>;
  lineAt(turn: TurnRef, stream: OutputStream, offset: number, budgetMs: number): Promise<OutputPlace>;
  /** Byte offset of a line; for a line after the end, that of the last line. */
  offsetOf(turn: TurnRef, stream: OutputStream, line: number, budgetMs: number): Promise<OutputPlace>;
  search(turn: TurnRef, stream: OutputStream, query: OutputQuery): Promise<OutputMatches>;
  /**
   * Calls `onLine` with each complete line and its size as it is written. `stop` first reads the rest. A line of more
   * than 8 MiB is skipped; `onLongLine` gets its beginning and size.
   */
  follow(
    turn: TurnRef,
    stream: OutputStream,
    onLine: (line: string, bytes: number) => void,
    onLongLine?: (beginning: string, bytes: number) => void,
  ): Following;
  /** Null removes the answer, so that the output of the last turn is the answer. */
  saveAnswer(runId: RunId, answer: string | null): Promise<void>;
  answer(runId: RunId): Promise<string | null>;
  /** Stores a structured answer that matches its schema. */
  saveStructured(runId: RunId, value: unknown): Promise<void>;
  structured(runId: RunId): Promise<unknown>;
  /** Stores the run's rows as JSON, in case the database is lost. Does nothing when the run has no folder. */
  saveRecord(runId: RunId, record: string): Promise<void>;
  record(runId: RunId): Promise<string | null>;
  /** Every run that has a folder, and the time of the folder's last change. */
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Deletes the files of a run. Returns the number of bytes freed. */
  remove(runId: RunId): Promise<number>;
  /** Every chat that has a folder. For a run without a chat, `chatId` is the id of the run. */
  listChats(): Promise<{ engine: string; chatId: string; changedAt: number }[]>;
  removeChat(engine: string, chatId: string): Promise<number>;
}

/** Runs as read from their folders, without a database. */
export interface RunSource {
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Reads the record of a run. Null if there is none, or if it cannot be read. */
  record(id: RunId): Promise<RunRecord | null>;
  /**
   * The part of a run that can be restored without a record. Null if the run was never started, so nobody expects a
   * result.
   */
  unrecorded(id: RunId, changedAt: number): Promise<RunRecord | null>;
}
