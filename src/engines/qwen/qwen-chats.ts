import { join } from 'node:path';
import { type Fields, fields, list, text } from '../json-line.ts';
import { type ChatReader, filesIn, firstLines, projectName, titleOf } from '../saved-chats/chat-files.ts';
import { projectsPath } from './qwen-chat-file.ts';

/** Chats are in `projects/<folder>/chats/<chat>.jsonl`. */
export const qwenChats: ChatReader = {
  traces: 'folder',
  chats: ({ folder, env }) =>
    filesIn(join(projectsPath(env), projectName(folder), 'chats'), /^[0-9a-f-]{36}\.jsonl$/).flatMap(
      ({ path, name, changedAt }) => {
        const lines = firstLines(path);
        if (lines.map(line => text(line.cwd)).find(cwd => cwd !== null) !== folder) return [];
        const title = titleOf(lines.map(promptIn).find(each => each !== null) ?? null);
        return [{ id: name.slice(0, -'.jsonl'.length), title, changedAt, file: path, claimedBy: [] }];
      },
    ),
};

function promptIn({ type, message }: Fields): string | null {
  if (type !== 'user') return null;
  return (
    list(fields(message).parts)
      .map(part => text(part.text))
      .find(each => each !== null) ?? null
  );
}
