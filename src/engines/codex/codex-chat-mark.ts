import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../../core/ports/engine.ts';
import { markOf } from '../chat-mark.ts';
import { isUuid } from '../chat-uuid.ts';
import { codexHome } from './user-config.ts';

const DAY_MS = 86_400_000;

/**
 * The chat file is `sessions/YYYY/MM/DD/rollout-<time>-<chat>.jsonl`, with the local day on which the chat started.
 * The chat's id contains that time.
 */
export const codexChatMark: Engine['chatMark'] = async ({ chatId, env }) => {
  const home = codexHome(env);
  if (home === null || !isUuid(chatId)) return null;
  const began = Number.parseInt(chatId.replace('-', '').slice(0, 12), 16);
  const folders = [began, began - DAY_MS, began + DAY_MS].map(time => join(home, 'sessions', ...dayOf(time)));
  const files = await Promise.all(
    folders.map(async folder => {
      const names = await readdir(folder).catch(() => []); // no chat started on the day of that folder
      return names.filter(name => name.endsWith(`-${chatId}.jsonl`)).map(name => join(folder, name));
    }),
  );
  return markOf(files.flat());
};

/** Year, month and day. Empty for an invalid time. */
function dayOf(time: number): string[] {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? [] : date.toISOString().slice(0, 10).split('-');
}
