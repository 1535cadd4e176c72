import type { StoredMessage } from './conversation.ts';

/**
 * Which call of a conversation a piece of a message is about. Providers may number their calls anew in each turn of the model, so
 * an id alone does not say. What tools gave back, and what a program called, is right below the message that has the call.
 */
export const callKey = (
  { id, parentId, role }: Pick<StoredMessage, 'id' | 'parentId' | 'role'>,
  callId: string,
): string => `${role === 'tool' || role === 'program' ? parentId : id} ${callId}`;
