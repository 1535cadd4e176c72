import { createHash } from 'node:crypto';
import { type InboxItem, whoAnswered, YES } from '../../schema/inbox.ts';
import { oneLine } from '../one-line.ts';
import type { Ask } from './ask.ts';

/** One use of a tool that an engine has no permission for. */
export interface ToolUse {
  tool: string;
  input: Readonly<Record<string, unknown>>;
}

/** In the words of the engine, for the model. */
export type Leave = { isGiven: true } | { isGiven: false; why: string };

const LONGEST_DETAILS = 30_000;
const LONGEST_NAME = 100;

/** What the user is asked: always the user, since an agent that may not do something is not to be allowed it by another. */
export function permissionAsk(engine: string, { tool, input }: ToolUse): Omit<Ask, 'run'> {
  const name = oneLine(tool, LONGEST_NAME) || 'a tool without a name';
  return {
    kind: 'permission',
    source: name,
    question: `${engine} wants to run: ${name}`,
    details: bounded(argumentsText(input)),
    to: 'user',
  };
}

/** What the engine hears. Whatever is not a yes is a no. */
export function leaveFrom({ state, answer, answeredBy }: InboxItem): Leave {
  if (state === 'answered' && answer === YES) return { isGiven: true };
  const by = whoAnswered(answeredBy);
  const why =
    state === 'answered'
      ? `Not allowed: ${by} said no. Do not try to get it done in another way; go on without it, or ask with ask_user.`
      : state === 'expired'
        ? 'Not allowed: the user was asked and nobody answered in time. Go on without it, and say in your report what is missing.'
        : 'Not allowed: the question was taken back before anybody answered.';
  return { isGiven: false, why };
}

/** A command as it would be typed, after all else it is run with: text of the agent's cannot pass for one of its options then. */
function argumentsText({ command, ...rest }: ToolUse['input']): string {
  if (typeof command !== 'string') return JSON.stringify({ ...rest, command }, null, 2);
  const options = Object.keys(rest).length > 0 ? [JSON.stringify(rest)] : [];
  // What the inbox does not take in a text is shown as JSON would write it.
  const shown = command.isWellFormed() && !command.includes('\0') ? command : JSON.stringify(command);
  return [...options, shown].join('\n\n');
}

/** Said before the rest, so that nobody allows what they have not seen without knowing. The hash keeps two that begin alike apart. */
function bounded(text: string): string {
  if (text.length <= LONGEST_DETAILS) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const cut = text.slice(0, LONGEST_DETAILS).toWellFormed();
  return `Only the first ${LONGEST_DETAILS} of ${text.length} characters are shown (SHA-256 of all: ${hash}…).\n\n${cut}`;
}
