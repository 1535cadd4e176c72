import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import type { FeedbackType } from '../../schema/review.ts';
import { checkText } from '../text.ts';

export interface ReviewAsk {
  reviewerPrompt: string | null;
  completionMessage: string | null;
}

export interface Feedback {
  feedback: string;
  type: FeedbackType;
  priority: string | null;
  actionableItems: string[];
}

/** Limit in bytes of UTF-8 for all parts together, because the coder reads all of it in every turn. */
const MAX_FEEDBACK_LENGTH = 64 * 1024;
const MAX_PRIORITY_LENGTH = 100;
const MAX_ITEMS = 100;

export function checkReviewAsk({ reviewerPrompt, completionMessage }: ReviewAsk): void {
  for (const [name, text] of Object.entries({
    reviewer_prompt: reviewerPrompt,
    completion_message: completionMessage,
  })) {
    if (text === null) continue;
    checkText(text, `The ${name}`);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_FEEDBACK_LENGTH) throw tooLong(`The ${name} is`, bytes);
  }
}

/** Removes empty entries. */
export const itemsOf = (given: readonly string[] | undefined): string[] =>
  (given ?? []).filter(item => item.trim() !== '');

export function checkFeedback({ feedback, priority, actionableItems }: Feedback): void {
  if (feedback.trim() === '')
    throw invalid(
      'The feedback is empty',
      'Say what is wrong and where, or that nothing is. Nothing was sent.',
    );
  const all = [feedback, priority ?? '', ...actionableItems];
  for (const text of all) checkText(text, 'The feedback');
  const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_FEEDBACK_LENGTH) throw tooLong('The feedback is', bytes);
  if (priority !== null && priority.length > MAX_PRIORITY_LENGTH)
    throw invalid(
      `The priority is longer than ${MAX_PRIORITY_LENGTH} characters`,
      'One word is enough: high.',
    );
  if (actionableItems.length > MAX_ITEMS)
    throw invalid(
      `There are ${actionableItems.length} actionable items; at most ${MAX_ITEMS} are allowed`,
      'Keep those that matter, or put them together.',
    );
}

const tooLong = (what: string, bytes: number) =>
  invalid(
    `${what} ${bytes} bytes long; at most ${MAX_FEEDBACK_LENGTH} are allowed`,
    'Keep to what matters and name files and lines instead of quoting them. Nothing was sent.',
  );

const invalid = (message: string, suggestion: string) =>
  new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });

export const MAX_COMMENT_LENGTH = 20_000;

export const LineComment = z.strictObject({
  path: z.string().min(1).max(4096),
  line: z.number().int().min(1),
  /** Side of the diff on which the line is. */
  side: z.enum(['old', 'new']),
  /** Text of the line, to find it again when the file has changed. */
  quote: z.string().max(2000).optional(),
  text: z.string().trim().min(1).max(MAX_COMMENT_LENGTH),
});
export type LineComment = z.infer<typeof LineComment>;

/** The message to the agent. Quoted lines are marked, to distinguish them from the request. */
export function commentsText(comments: readonly LineComment[], message: string | undefined): string {
  const count = comments.length === 1 ? 'A comment' : `${comments.length} comments`;
  const intro =
    message?.trim() || `${count} on your changes. Please address ${comments.length === 1 ? 'it' : 'each'}.`;
  return [intro, ...comments.map(commentText)].join('\n\n');
}

function commentText({ path, line, side, quote, text }: LineComment): string {
  const place = `${path}:${line}${side === 'old' ? ' (as it was before your changes)' : ''}`;
  const quoted = quote?.trim() ? quote.split('\n').map(each => `> ${each}`) : [];
  return [place, ...quoted, text.trim()].join('\n');
}
