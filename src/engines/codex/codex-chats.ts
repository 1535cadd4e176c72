import { join } from 'node:path';
import { type Fields, fields, list, text } from '../json-line.ts';
import {
  beginningOf,
  type ChatReader,
  firstLines,
  MAX_CHATS,
  namesIn,
  newestFirst,
  titleOf,
} from '../saved-chats/chat-files.ts';
import { codexHome } from './user-config.ts';

const CHAT = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;
/** Maximum number of chats of all folders together that are read, because Codex does not sort them by folder. */
const MAX_SEARCHED = 3_000;
/** The first line begins with the folder and continues with long instructions. */
const FOLDER_BYTES = 4 * 1024;

/** Chats are in `sessions/YYYY/MM/DD/rollout-<time>-<chat>.jsonl`. Codex keeps the file of an open chat open. */
export const codexChats: ChatReader = {
  traces: 'exact',
  chats({ folder, env }) {
    const home = codexHome(env);
    if (home === null) return [];
    const marked = `"cwd":${JSON.stringify(folder)}`;
    return newestFirst(chatPaths(join(home, 'sessions')), MAX_SEARCHED)
      .filter(({ path }) => beginningOf(path, FOLDER_BYTES).includes(marked))
      .slice(0, MAX_CHATS)
      .flatMap(({ path, name, changedAt }) => {
        const lines = firstLines(path);
        const { cwd, source } = fields(lines[0]?.payload);
        // `source` is an object, not a text, in a chat that Codex began for a sub-agent. Such chats are left out.
        if (lines[0]?.type !== 'session_meta' || cwd !== folder || text(source) === null) return [];
        const title = titleOf(lines.map(promptIn).find(each => each !== null) ?? null);
        return [{ id: CHAT.exec(name)![1]!, title, changedAt, file: path, claimedBy: [] }];
      });
  },
};

/** Paths of the newest chats. The folders are named after the day on which a chat began. */
function chatPaths(sessions: string): string[] {
  const found: string[] = [];
  const search = (folder: string, depth: number): void => {
    for (const name of namesIn(folder).sort().reverse()) {
      if (found.length >= MAX_SEARCHED) return;
      if (depth === 0 && CHAT.test(name)) found.push(join(folder, name));
      else if (depth > 0 && /^\d{2,4}$/.test(name)) search(join(folder, name), depth - 1);
    }
  };
  search(sessions, 3);
  return found;
}

function promptIn({ type, payload }: Fields): string | null {
  const { type: kind, item, message } = fields(payload);
  if (type !== 'event_msg') return null;
  if (kind === 'user_message') return text(message);
  const { type: ofItem, content } = fields(item);
  return ofItem === 'UserMessage'
    ? (list(content)
        .map(part => text(part.text))
        .find(each => each !== null) ?? null)
    : null;
}
