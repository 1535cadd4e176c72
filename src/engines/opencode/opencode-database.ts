import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { offThread } from '../../core/off-thread.ts';
import { number, text } from '../json-line.ts';
import { type ChatReader, MAX_CHATS, titleOf } from '../saved-chats/chat-files.ts';
import { dataPath } from './opencode-log.ts';

/** Where opencode stores a turn. A chat is identified by its id, or by its title until the id is known. */
export interface TurnInDatabase {
  path: string;
  chat: string | null;
  title: string | null;
}

export interface RecordedTurn {
  chat: string | null;
  calls: RecordedCall[];
}

/** A started tool call in opencode's database: `{ tool, callID, state: { input, status } }`. */
export type RecordedCall = Record<string, unknown>;

/**
 * Reads a turn from opencode's database, in another thread: an agent can write to the file, and a query cannot be
 * interrupted. Throws if the file is unreadable.
 */
export const recordedTurn = (turn: TurnInDatabase): Promise<RecordedTurn> =>
  offThread('opencode turn', readRecordedTurn, Number.POSITIVE_INFINITY, turn);

/**
 * Tool calls since the user's last message. Older calls are excluded: an earlier turn that was killed left calls that
 * still count as running.
 */
export function readRecordedTurn({ path, chat, title }: TurnInDatabase): RecordedTurn {
  // opencode was killed before it created the database.
  if (chat === null && !lstatSync(path, { throwIfNoEntry: false })) return { chat, calls: [] };
  const database = openPlain(path);
  try {
    const id = chat ?? database.prepare(CHAT_BY_TITLE).pluck().get(title);
    if (typeof id !== 'string') return { chat: null, calls: [] };
    const parts = database.prepare(BEGUN_CALLS).pluck().all({ chat: id, limit: MAX_CALLS });
    return { chat: id, calls: parts.map(part => JSON.parse(String(part)) as RecordedCall) };
  } finally {
    database.close();
  }
}

/** opencode keeps the chats of all folders in one database, so no file belongs to a single chat. */
export const opencodeChats: ChatReader = {
  traces: 'folder',
  chats({ folder, env }) {
    const path = join(dataPath(env), 'opencode.db');
    if (!lstatSync(path, { throwIfNoEntry: false })) return [];
    const database = openPlain(path);
    try {
      const rows = database.prepare(CHATS).all({ folder, limit: MAX_CHATS }) as Record<string, unknown>[];
      return rows.map(({ id, title, at }) => ({
        ...{ id: String(id), title: titleOf(text(title)), changedAt: number(at) ?? 0 },
        ...{ file: null, claimedBy: [] },
      }));
    } finally {
      database.close();
    }
  },
};

/**
 * Opens only regular files. Opening a pipe would block the hub's thread forever, and a link could lead to any file.
 */
function openPlain(path: string): BetterSqlite3.Database {
  const files = SUFFIXES.map(suffix => lstatSync(`${path}${suffix}`, { throwIfNoEntry: false }));
  if (files.some(file => file && !file.isFile())) throw new Error(`${path} is not a plain file`);
  return new BetterSqlite3(path, { readonly: true, fileMustExist: true, timeout: 1_000 });
}

/** Chats of opencode's own agents have a parent. */
const CHATS = `
  SELECT id, title, time_updated AS at FROM session
  WHERE directory = $folder AND parent_id IS NULL AND time_archived IS NULL
  ORDER BY time_updated DESC LIMIT $limit`;

/** Suffixes of the files that SQLite opens together with a database. */
const SUFFIXES = ['', '-journal', '-wal', '-shm'];

/** Maximum number of calls to read. One answer of a model has fewer. */
const MAX_CALLS = 1_000;

const CHAT_BY_TITLE = 'SELECT id FROM session WHERE title = ? ORDER BY time_created DESC LIMIT 1';

const BEGUN_CALLS = `
  SELECT part.data FROM part JOIN message ON message.id = part.message_id
  WHERE part.session_id = $chat
    AND json_extract(part.data, '$.type') = 'tool'
    AND json_extract(part.data, '$.state.status') <> 'pending'
    AND message.time_created >= (
      SELECT max(time_created) FROM message WHERE session_id = $chat AND json_extract(data, '$.role') = 'user')
  ORDER BY part.time_created DESC LIMIT $limit`;
