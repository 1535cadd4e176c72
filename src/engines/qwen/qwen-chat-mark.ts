import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../../core/ports/engine.ts';
import { markOf } from '../chat-mark.ts';
import { isUuid } from '../chat-uuid.ts';

/** `projects/<folder>/chats/<chat>.jsonl`, where the folder's name is made of the path of the one it works in. */
export const qwenChatMark: Engine['chatMark'] = async ({ chatId, env }) => {
  const projects = join(env.QWEN_RUNTIME_DIR || env.QWEN_HOME || join(env.HOME || '/', '.qwen'), 'projects');
  if (!isUuid(chatId)) return null;
  const names = await readdir(projects).catch(() => []); // it has not been used yet
  return markOf(names.map(name => join(projects, name, 'chats', `${chatId}.jsonl`)));
};
