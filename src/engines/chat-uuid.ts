import { SquadError } from '../schema/error.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUuid = (chatId: string): boolean => UUID.test(chatId);

/** For CLIs whose chats are known by UUID: anything else they would take for a title, and open whatever bears it. */
export function chatUuid(cli: string, chatId: string): string {
  if (isUuid(chatId)) return chatId;
  throw new SquadError(
    'CHAT_UNKNOWN',
    `${cli} has no chat ${JSON.stringify(chatId.slice(0, 100).toWellFormed())}: its chats are known by UUID`,
    {
      suggestions: ['Leave chatId out to open a new chat.'],
    },
  );
}
