import { createHash } from 'node:crypto';
import { existsSync, fstatSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withRegular } from '../../process/output/regular-file.ts';
import { SquadError } from '../../schema/error.ts';
import { isUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { type Fields, fields, fieldsOf, list, text } from '../json-line.ts';
import { beginningOf, type ChatReader, filesIn, firstLines, titleOf } from '../saved-chats/chat-files.ts';
import { usersFolder } from './gemini-settings.ts';

/** Chats are in `tmp/<project>/chats`; `projects.json` has the names of the projects. */
export const geminiChats: ChatReader = {
  traces: 'folder',
  chats({ folder, env }) {
    const home = usersFolder(env);
    const hash = createHash('sha256').update(folder).digest('hex');
    const name = projectOf(home, folder);
    return [...(name === null ? [] : [name]), hash]
      .flatMap(each => filesIn(join(home, 'tmp', each, 'chats'), /^session-.*\.jsonl$/))
      .flatMap(({ path, changedAt }) => {
        const lines = firstLines(path);
        const [{ sessionId, projectHash, kind } = {} as Fields] = lines;
        const id = text(sessionId);
        if (id === null || !isUuid(id) || projectHash !== hash || (kind !== undefined && kind !== 'main'))
          return [];
        const title = titleOf(lines.flatMap(promptsIn)[0] ?? null);
        return [{ id, title, changedAt, file: path, claimedBy: [] }];
      });
  },
};

/** Name of the folder below `tmp` for a project. Null if Gemini CLI was never used there. */
function projectOf(home: string, folder: string): string | null {
  const name = text(fields(fieldsOf(beginningOf(join(home, 'projects.json')))?.projects)[folder]);
  return name !== null && /^[\w-][\w.-]*$/.test(name) ? name : null;
}

function promptsIn(line: Fields): string[] {
  const messages = line.$set === undefined ? [line] : list(fields(line.$set).messages);
  return messages.flatMap(({ type, content }) => {
    const said =
      text(content) ??
      list(content)
        .map(part => text(part.text))
        .find(each => each !== null) ??
      null;
    return type !== 'user' || said === null || said.startsWith('<session_context>') ? [] : [said];
  });
}

const MAX_COPIED_BYTES = 64 * 1024 * 1024;

/** Each chat has a home folder of its own, so Squad continues a copy, and the user's file stays as it is. */
export const copyGeminiChat: NonNullable<CliProfile['copyChat']> = async ({ id, file }, folder, files) => {
  if (existsSync(join(files.chatFolder, '.gemini')))
    throw new SquadError('INVALID_INPUT', `A run has already continued a copy of the Gemini CLI chat ${id}`, {
      suggestions: ['`squad adopt` names that run. Continue it: `squad reply RUN "…"`.'],
    });
  const text =
    file === null
      ? null
      : withRegular(file, fd => (fstatSync(fd).size > MAX_COPIED_BYTES ? null : readFileSync(fd, 'utf8')));
  if (file === null || text === null)
    throw new SquadError(
      'CHAT_UNKNOWN',
      `The file of the Gemini CLI chat ${id} is gone, or too large to copy`,
    );
  const project = basename(dirname(dirname(file)));
  const write = (path: string, content: string) => files.writeInChat(join('.gemini', path), content);
  await write(join('tmp', project, 'chats', basename(file)), text);
  await write('projects.json', JSON.stringify({ projects: { [folder]: project } }));
  for (const kind of ['tmp', 'history']) await write(join(kind, project, '.project_root'), folder);
};
