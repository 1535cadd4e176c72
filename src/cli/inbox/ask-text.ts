import { visibleLine } from '../../base/text.ts';
import type { ShownAsk } from '../../operations/inbox/open-questions.ts';
import { type InboxItem, whoAnswered, whyWithdrawn } from '../../schema/inbox.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { withOwnCommand } from '../own-command.ts';
import type { Style } from '../terminal/style.ts';
import { displayWidth, truncate } from '../terminal/width.ts';

const MIN_WIDTH = 24;
const GAP = '  ';

export const askState = ({ owner }: InboxItem): string => (owner === 'user' ? 'needs you' : 'asks');

/** The command that answers an item. Choices are quoted: pasted unquoted, `yes|no` would run `no` as a program. */
export function answerHint({ id, choices, fields }: Pick<InboxItem, 'id' | 'choices' | 'fields'>): string {
  const command = withOwnCommand(`squad answer ${shellWord(id)}`);
  if (fields.length > 0) return command;
  if (choices.length === 0) return `${command} "…"`;
  const isShort = choices.every(choice => /^[\p{L}\p{N}_.-]{1,12}$/u.test(choice)) && choices.length <= 3;
  return `${command} ${isShort ? shellWord(choices.join('|')) : `1…${choices.length}`}`;
}

/** The question and the command that answers it; the question is cut if both do not fit. */
export function askLine(item: InboxItem, room: number, style: Style): string {
  const hint = item.owner === 'user' ? answerHint(item) : item.owner;
  const left = Math.max(MIN_WIDTH, room - displayWidth(hint) - GAP.length);
  return `${truncate(visibleLine(item.question), left)}${GAP}${style.dim(hint)}`;
}

export const closedLine = (item: InboxItem, room: number): string =>
  truncate(closedItemText(item), Math.max(MIN_WIDTH, room));

/** Formats the outcome, for example `"yes" by the user (web)`. */
export function closedItemText({ state, answer, answeredBy, withdrawnBecause }: InboxItem): string {
  if (state === 'withdrawn') return whyWithdrawn(withdrawnBecause);
  if (state === 'declined') return `declined by ${visibleLine(whoAnswered(answeredBy))}`;
  const text = answer === null ? 'no answer' : `"${visibleLine(answer)}"`;
  return state === 'expired' ? `${text}, by default` : `${text} by ${visibleLine(whoAnswered(answeredBy))}`;
}

export function askFact({ item, question }: ShownAsk, style: Style): string {
  return `${visibleLine(question)}${GAP}${style.dim(withOwnCommand(`squad answer ${shellWord(item)}`))}`;
}
