import { basename, dirname, join } from 'node:path';
import { isUuid } from '../chat-uuid.ts';
import { type Fields, fields, text } from '../json-line.ts';
import { type ChatReader, firstLines, namesIn, newestFirst, titleOf } from '../saved-chats/chat-files.ts';
import { copilotHome } from './copilot-command.ts';

/** Maximum number of chats of all folders together that are read, because Copilot CLI does not sort them by folder. */
const MAX_SEARCHED = 1_000;

/** Chats are in `session-state/<chat>/events.jsonl`; `inuse.<pid>.lock` beside it names the process that has it open. */
export const copilotChats: ChatReader = {
  traces: 'exact',
  chats({ folder, env }) {
    const sessions = join(copilotHome(env), 'session-state');
    const paths = namesIn(sessions)
      .filter(isUuid)
      .map(id => join(sessions, id, 'events.jsonl'));
    return newestFirst(paths, MAX_SEARCHED).flatMap(({ path, changedAt }) => {
      const lines = firstLines(path);
      if (text(fields(fields(lines[0]?.data).context).cwd) !== folder) return [];
      const title = titleOf(lines.map(promptIn).find(each => each !== null) ?? null);
      const chat = dirname(path);
      const users = namesIn(chat).flatMap(name => /^inuse\.(\d+)\.lock$/.exec(name)?.[1] ?? []);
      return [{ id: basename(chat), title, changedAt, file: path, claimedBy: users.map(Number) }];
    });
  },
};

const promptIn = ({ type, data }: Fields): string | null =>
  type === 'user.message' ? text(fields(data).content) : null;
