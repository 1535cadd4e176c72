import { join } from 'node:path';
import { type Fields, fields, list, number, text } from '../json-line.ts';
import {
  type ChatReader,
  filesIn,
  firstLines,
  lastLines,
  namesIn,
  projectName,
  titleOf,
} from '../saved-chats/chat-files.ts';

const CHAT = /^[0-9a-f-]{36}\.jsonl$/;
/** Claude Code shortens longer names and adds a hash. */
const MAX_NAME_LENGTH = 200;

/** Chats are in `projects/<folder>/<chat>.jsonl`, and `sessions/<pid>.json` names the chat of each running process. */
export const claudeChats: ChatReader = {
  traces: 'exact',
  chats({ folder, env }) {
    const home = env.CLAUDE_CONFIG_DIR || join(env.HOME || '/', '.claude');
    const projects = join(home, 'projects');
    const name = projectName(folder);
    const isShortened = name.length > MAX_NAME_LENGTH;
    const beginning = name.slice(0, MAX_NAME_LENGTH);
    const names = isShortened ? namesIn(projects).filter(each => each.startsWith(beginning)) : [name];
    const open = openChats(join(home, 'sessions'));
    return names
      .flatMap(each => filesIn(join(projects, each), CHAT))
      .flatMap(({ path, name, changedAt }) => {
        const id = name.slice(0, -'.jsonl'.length);
        const lines = firstLines(path);
        const last = lastLines(path);
        // Different folders can have the same name here.
        const cwd = [...lines, ...last].map(line => text(line.cwd)).find(path => path !== null);
        if (cwd !== folder) return [];
        const title =
          givenTitle(last) ?? givenTitle(lines) ?? lines.map(promptIn).find(each => each !== null);
        return [{ id, title: titleOf(title ?? null), changedAt, file: path, claimedBy: open.get(id) ?? [] }];
      });
  },
};

/** Processes by chat. */
function openChats(sessions: string): Map<string, number[]> {
  const open = new Map<string, number[]>();
  for (const { path } of filesIn(sessions, /^\d+\.json$/))
    for (const { sessionId, pid } of firstLines(path).map(({ sessionId, pid }) => ({
      sessionId: text(sessionId),
      pid: number(pid),
    })))
      if (sessionId !== null && pid !== null) open.set(sessionId, [...(open.get(sessionId) ?? []), pid]);
  return open;
}

const givenTitle = (lines: Fields[]): string | null =>
  lines.map(line => text(line.customTitle) ?? text(line.aiTitle)).findLast(title => title !== null) ?? null;

function promptIn(line: Fields): string | null {
  if (line.type !== 'user' || line.isMeta === true || line.isSidechain === true) return null;
  const { content } = fields(line.message);
  const said =
    text(content) ??
    list(content)
      .map(part => text(part.text))
      .find(each => each !== null) ??
    null;
  // Commands of Claude Code itself, and their output.
  return said === null || /^<(command|local-command|bash)-/.test(said) ? null : said;
}
