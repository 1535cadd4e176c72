import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { readPage } from '../../process/output/output-page.ts';
import { markOf } from '../chat-mark.ts';
import { isUuid } from '../chat-uuid.ts';
import { failureKind } from '../failure-kind.ts';
import { type Fields, fields, fieldsOf, number, text } from '../json-line.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/** File in a turn's folder with the path of Qwen Code's chats. */
export const PROJECTS_PATH_FILE = 'qwen-projects-path';
const MAX_CHAT_BYTES = 256 * 1024;

export const projectsPath = (env: Record<string, string>): string =>
  join(env.QWEN_RUNTIME_DIR || env.QWEN_HOME || join(env.HOME || '/', '.qwen'), 'projects');

export const qwenChatMark: Engine['chatMark'] = async ({ chatId, env }) =>
  isUuid(chatId) ? markOf(await chatFiles(projectsPath(env), chatId)) : null;

/** Possible paths of the chat file. Qwen Code names the folder after the working folder. */
async function chatFiles(projects: string, chatId: string): Promise<string[]> {
  const names = await readdir(projects).catch(() => []); // Qwen Code was never used
  return names.map(name => join(projects, name, 'chats', `${chatId}.jsonl`));
}

/** Qwen Code prints nothing while it waits to repeat a failed request, but it writes the failure to its chat file. */
export async function failedRequest(chatId: string, exit: Exit): Promise<EngineEvent[]> {
  const projects = await exit.file(PROJECTS_PATH_FILE);
  if (projects === null || !isUuid(chatId)) return [];
  for (const path of await chatFiles(projects, chatId)) {
    // Empty if the folder does not contain the chat.
    const page = await readPage(path, -MAX_CHAT_BYTES, MAX_CHAT_BYTES, () => true).catch(() => null);
    if (page?.text) return lastFailure(page.text);
  }
  return [];
}

/** Failure of the last request. Empty if the request was answered. */
function lastFailure(chat: string): EngineEvent[] {
  const requests = chat.split('\n').flatMap(line => {
    const event = fields(fields(fieldsOf(line)?.systemPayload).uiEvent);
    return REQUEST_EVENTS.includes(text(event['event.name']) ?? '') ? [event] : [];
  });
  const last = requests.at(-1);
  return last?.['event.name'] === API_ERROR ? [retryNote(last)] : [];
}

const API_ERROR = 'qwen-code.api_error';
const REQUEST_EVENTS = [API_ERROR, 'qwen-code.api_response'];

function retryNote(event: Fields): EngineEvent {
  const said = text(event.error_message) ?? '';
  const code = failureKind(said, number(event.status_code) ?? undefined);
  return { type: 'note', text: `The model's API failed: ${said}`, retry: { code, waitMs: null } };
}
