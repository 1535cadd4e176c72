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

/** In bytes of UTF-8, all of it together. It is read whole by the coder, again and again. */
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

/** An entry with nothing in it is a slip of its writer, and nothing to do. */
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
      `There are ${actionableItems.length} actionable items; at most ${MAX_ITEMS} are taken`,
      'Keep those that matter, or put them together.',
    );
}

const tooLong = (what: string, bytes: number) =>
  invalid(
    `${what} ${bytes} bytes long; at most ${MAX_FEEDBACK_LENGTH} are taken`,
    'Keep to what matters and name files and lines instead of quoting them. Nothing was sent.',
  );

const invalid = (message: string, suggestion: string) =>
  new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });

/** Words about one line of a run's changes. */
interface LineComment {
  path: string;
  line: number;
  /** Which side of the diff: as it was before, or as it is now. */
  side: 'old' | 'new';
  /** The line itself, so that it is found again when the file has moved on. */
  quote?: string;
  text: string;
}

/** Comments as the agent reads them. What is quoted is only a place: it is set apart from what is asked of the agent. */
export function commentsText(comments: readonly LineComment[], message: string | undefined): string {
  const count = comments.length === 1 ? 'A comment' : `${comments.length} comments`;
  const intro =
    message?.trim() || `${count} on your changes. Please see to ${comments.length === 1 ? 'it' : 'each'}.`;
  return [intro, ...comments.map(inWords)].join('\n\n');
}

function inWords({ path, line, side, quote, text }: LineComment): string {
  const place = `${path}:${line}${side === 'old' ? ' (as it was before your changes)' : ''}`;
  const quoted = quote?.trim() ? quote.split('\n').map(each => `> ${each}`) : [];
  return [place, ...quoted, text.trim()].join('\n');
}
