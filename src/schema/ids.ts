import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Ten characters of base 32: 50 random bits, short enough to read aloud, without the ambiguous letters i, l, o and u.
 */
function letters(): string {
  return Array.from(randomBytes(10), byte => LETTERS[byte & 31]).join('');
}

export const RunId = z
  .string()
  .regex(/^run_[0-9a-z]{10}$/)
  .brand<'RunId'>();
export type RunId = z.infer<typeof RunId>;

export const SquadId = z
  .string()
  .regex(/^squad_[0-9a-z]{10}$/)
  .brand<'SquadId'>();
export type SquadId = z.infer<typeof SquadId>;

export const ReviewId = z
  .string()
  .regex(/^review_[0-9a-z]{10}$/)
  .brand<'ReviewId'>();
export type ReviewId = z.infer<typeof ReviewId>;

export const InboxId = z
  .string()
  .regex(/^ask_[0-9a-z]{10}$/)
  .brand<'InboxId'>();
export type InboxId = z.infer<typeof InboxId>;

export const newRunId = (): RunId => `run_${letters()}` as RunId;
export const newSquadId = (): SquadId => `squad_${letters()}` as SquadId;
export const newReviewId = (): ReviewId => `review_${letters()}` as ReviewId;
export const newInboxId = (): InboxId => `ask_${letters()}` as InboxId;
export const newMessageId = (): string => `msg_${letters()}`;
/** Creates a chat id, for engines that accept an id from Squad. */
export const newChatId = (): string => `chat_${letters()}`;
