import type { FileHandle } from 'node:fs/promises';
import type { RunId } from '../../schema/ids.ts';
import type { RunRecord } from '../runs/run-record.ts';
import type { TurnRef } from './turns.ts';

export type OutputStream = 'stdout' | 'stderr';

export interface OutputPage {
  text: string;
  /** Byte offset of the first byte of `text`, moved to a character's start. */
  offset: number;
  /** Where the next page begins; equal to `size` at the end. */
  nextOffset: number;
  size: number;
}

/** A line of an output, from 1, and the byte it starts at. Nulls where it was not found, or not yet. */
interface OutputPlace {
  line: number | null;
  offset: number | null;
  /** How many there are; null: not all of it has been read. */
  lines: number | null;
  /** False: the time was up. To ask again goes on from there. */
  isComplete: boolean;
}

export interface OutputQuery {
  q: string;
  /** Of a long line its beginning is tried. Throws an error with code PATTERN_INVALID or PATTERN_TOO_SLOW. */
  isRegex: boolean;
  isCaseSensitive: boolean;
  /** The byte a line starts at. */
  after: number;
  limit: number;
  budgetMs: number;
  /** What a line says, where that is not the line itself. */
  words: ((line: string) => string) | null;
}

export interface OutputMatches {
  /** One for each line; lines counted from 1 at `after`, colours and the like taken out of the text. */
  matches: { line: number; offset: number; text: string; column: number }[];
  /** Where to go on; null: it was searched to its end. */
  next: number | null;
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
  /** Values for the gateway alone, which its agent does not get. */
  saveVariables(runId: RunId, variables: Record<string, string>): Promise<void>;
  variables(runId: RunId): Promise<Record<string, string>>;
  /** The environment, and the variables with it. */
  dropEnvironment(runId: RunId): Promise<void>;
  outputPath(turn: TurnRef, stream: OutputStream): string;
  /** For the whole of it. `linked`: a link in its path, or a second name of it, may lead out of the run's folder. The caller closes it. */
  openOutput(turn: TurnRef, stream: OutputStream): Promise<FileHandle | 'absent' | 'linked'>;
  size(turn: TurnRef, stream: OutputStream): Promise<number>;
  /** When it last wrote something; null while it has not. */
  wroteAt(turn: TurnRef): Promise<number | null>;
  /**
   * At most `limit` bytes from `offset`, cut at character boundaries; a negative offset counts from the end. With whole lines
   * it has no pieces of lines at its edges, unless a piece is all there is.
   */
  page(
    turn: TurnRef,
    stream: OutputStream,
    offset: number,
    limit: number,
    isWholeLines?: boolean,
  ): Promise<OutputPage>;
  /** The line a byte is in. */
  lineAt(turn: TurnRef, stream: OutputStream, offset: number, budgetMs: number): Promise<OutputPlace>;
  /** Where a line starts; of one after the end, where the last does. */
  offsetOf(turn: TurnRef, stream: OutputStream, line: number, budgetMs: number): Promise<OutputPlace>;
  search(turn: TurnRef, stream: OutputStream, query: OutputQuery): Promise<OutputMatches>;
  /**
   * Calls back with each complete line as it is written, until `stop` is called, which reads what is left first.
   * A line of more than 8 MiB is left out: of such a line `onLongLine` gets the beginning and the size.
   */
  follow(
    turn: TurnRef,
    stream: OutputStream,
    onLine: (line: string) => void,
    onLongLine?: (beginning: string, bytes: number) => void,
  ): { stop(): Promise<void> };
  saveAnswer(runId: RunId, answer: string): Promise<void>;
  answer(runId: RunId): Promise<string | null>;
  /** A structured answer that was checked against its schema. */
  saveStructured(runId: RunId, value: unknown): Promise<void>;
  structured(runId: RunId): Promise<unknown>;
  /** The run's rows as JSON, for the day the database is lost. Ignored when the run has no folder. */
  saveRecord(runId: RunId, record: string): Promise<void>;
  record(runId: RunId): Promise<string | null>;
  /** Every run that has a folder, and when the folder last changed. */
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Removes everything of the run; returns the bytes freed. */
  remove(runId: RunId): Promise<number>;
  /** Every chat that has a folder: its id, or the id of the run it was opened for, where that can be a name. */
  listChats(): Promise<{ engine: string; chatId: string; changedAt: number }[]>;
  removeChat(engine: string, chatId: string): Promise<number>;
}

/** Runs as their folders tell of them, without a database. */
export interface RunSource {
  /** Every run that has a folder, and when the folder last changed. */
  list(): Promise<{ runId: RunId; changedAt: number }[]>;
  /** Null when there is none, or it cannot be read. */
  record(id: RunId): Promise<RunRecord | null>;
  /** As much as can be told without a record. Null for a run that was never started: nobody was promised anything. */
  unrecorded(id: RunId, changedAt: number): Promise<RunRecord | null>;
}
