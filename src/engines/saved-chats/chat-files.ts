import { fstatSync, lstatSync, opendirSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withRegular } from '../../process/output/regular-file.ts';
import { type Fields, fieldsOf } from '../json-line.ts';

/**
 * Reads files in which agent CLIs keep their chats. An agent may have written them, so everything is bounded and is
 * only data: no link is followed, and a file that cannot be understood is left out.
 */

/** A chat as the files of its CLI describe it. */
export interface ChatInFiles {
  id: string;
  title: string | null;
  changedAt: number;
  file: string | null;
  /** Processes that have the chat open, according to the CLI's own files. They may have ended. */
  claimedBy: number[];
}

/** A place where chats are searched for. */
export interface ChatPlace {
  /** The folder that the chats belong to: absolute, links resolved. */
  folder: string;
  env: Record<string, string>;
}

/**
 * Reads the chats of one CLI and finds processes that have one open. `exact`: the CLI holds a file of an open chat open, or
 * names its process in a file. `folder`: only the working folder of a process shows that it may have a chat open.
 */
export interface ChatReader {
  chats(place: ChatPlace): ChatInFiles[];
  traces: 'exact' | 'folder';
}

const MAX_ENTRIES = 20_000;
/** Maximum number of chats of one CLI. Older ones are left out. */
export const MAX_CHATS = 300;
const HEAD_BYTES = 128 * 1024;
const TAIL_BYTES = 32 * 1024;
const MAX_TITLE_LENGTH = 200;

/** Names in a folder. Empty if the folder does not exist; throws if it cannot be read. */
export function namesIn(folder: string): string[] {
  const names: string[] = [];
  try {
    const entries = opendirSync(folder);
    try {
      for (let entry = entries.readSync(); entry && names.length < MAX_ENTRIES; entry = entries.readSync())
        names.push(entry.name);
    } finally {
      entries.closeSync();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  }
  return names;
}

export interface FoundFile {
  path: string;
  name: string;
  changedAt: number;
}

/** Regular files of these paths, the last changed first. */
export function newestFirst(paths: readonly string[], limit = MAX_CHATS): FoundFile[] {
  const found = paths.flatMap(path => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? [{ path, name: basename(path), changedAt: Math.round(stat.mtimeMs) }] : [];
  });
  return found.sort((a, b) => b.changedAt - a.changedAt).slice(0, limit);
}

export const filesIn = (folder: string, name: RegExp): FoundFile[] =>
  newestFirst(
    namesIn(folder)
      .filter(each => name.test(each))
      .map(each => join(folder, each)),
  );

/** The beginning of a file. Empty if it is no readable regular file. */
export const beginningOf = (path: string, bytes = HEAD_BYTES): string => part(path, bytes, false);

/** JSON objects on the whole lines at the beginning of a file. */
export const firstLines = (path: string): Fields[] => objectsIn(part(path, HEAD_BYTES, false));

/** JSON objects on the whole lines at the end of a file. */
export const lastLines = (path: string): Fields[] => objectsIn(part(path, TAIL_BYTES, true));

const objectsIn = (text: string): Fields[] =>
  text
    .split('\n')
    .map(fieldsOf)
    .filter(line => line !== null);

function part(path: string, bytes: number, isEnd: boolean): string {
  try {
    const text = withRegular(path, fd => {
      const { size } = fstatSync(fd);
      const buffer = Buffer.alloc(Math.min(bytes, size));
      const from = isEnd ? Math.max(0, size - bytes) : 0;
      return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, from));
    });
    return text ?? '';
  } catch {
    return ''; // another user's file, or one that was just removed
  }
}

/** One line of a text that somebody typed. Null if it is blank. */
export function titleOf(text: string | null): string | null {
  const line = (text ?? '')
    .slice(0, 10 * MAX_TITLE_LENGTH)
    .replace(/\s+/g, ' ')
    .trim();
  if (line === '') return null;
  return line.length > MAX_TITLE_LENGTH
    ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…`
    : line.toWellFormed();
}

/** The folder name that Claude Code and Qwen Code make of a path. */
export const projectName = (folder: string): string => folder.replace(/[^a-zA-Z0-9]/g, '-');
