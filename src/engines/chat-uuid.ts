import type { TurnInput } from '../core/ports/engine.ts';
import { SquadError } from '../schema/error.ts';

/** Chat that the first turn of a run copies. Null if the turn copies none. */
export const forkedChat = ({
  continues,
  options,
}: Pick<TurnInput, 'continues' | 'options'>): string | null => (continues ? null : options.forksChat);

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isUuid = (chatId: string): boolean => UUID.test(chatId);

/**
 * Checks a chat id for CLIs that identify chats by UUID. They would take any other text for a title and open a chat
 * with that title.
 */
export function chatUuid(cli: string, chatId: string): string {
  if (isUuid(chatId)) return chatId;
  throw new SquadError(
    'CHAT_UNKNOWN',
    `${cli} has no chat ${JSON.stringify(chatId.slice(0, 100).toWellFormed())}: the id of a chat must be a UUID`,
    {
      suggestions: ['Leave chatId out to open a new chat.'],
    },
  );
}
