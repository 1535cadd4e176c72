import { createHash } from 'node:crypto';
import { oneLine, visibleText } from '../../base/text.ts';
import { type InboxItem, whoAnswered, YES } from '../../schema/inbox.ts';
import type { Ask } from './ask.ts';

/** One use of a tool that an engine has no permission for. */
export interface ToolUse {
  tool: string;
  input: Readonly<Record<string, unknown>>;
  /** The engine's own name for this use; null: it gave none. */
  id: string | null;
}

/** In the words of the engine, for the model. */
export type PermissionAnswer = { isGiven: true } | { isGiven: false; why: string };

const MAX_DETAILS_LENGTH = 30_000;
const MAX_NAME_LENGTH = 100;

/** What the user is asked: always the user, since an agent that may not do something is not to be allowed it by another. */
export function permissionAsk(engine: string, { tool, input, id }: ToolUse): Omit<Ask, 'run'> {
  const name = oneLine(tool, MAX_NAME_LENGTH) || 'a tool without a name';
  return {
    kind: 'permission',
    source: name,
    question: `${engine} wants to run: ${name}`,
    details: bounded(argumentsText(input)),
    to: 'user',
    ...(id !== null && { useKey: hashOf(JSON.stringify([id, tool, input])) }),
  };
}

/** What the engine hears. Whatever is not a yes is a no. */
export function toPermissionAnswer({ state, answer, answeredBy }: InboxItem): PermissionAnswer {
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

/** What a person has to see first, whatever else a tool is given. */
const FIRST = ['command', 'cmd', 'script', 'code', 'file_path', 'path', 'url'];
const OPTIONS = 'With: ';

/** A command as it would be typed, then all else it is run with. What could pass for that, or is no text, is shown as JSON writes it. */
function argumentsText(input: ToolUse['input']): string {
  const { command, ...rest } = input;
  if (typeof command !== 'string') return JSON.stringify(inOrder(input), null, 2);
  const isPlain = command.isWellFormed() && !command.includes('\0') && !/^With: /m.test(visibleText(command));
  const options = Object.keys(rest).length > 0 ? [`${OPTIONS}${JSON.stringify(inOrder(rest))}`] : [];
  return [isPlain ? command : JSON.stringify(command), ...options].join('\n\n');
}

const inOrder = (input: ToolUse['input']): ToolUse['input'] =>
  Object.fromEntries([
    ...FIRST.filter(name => Object.hasOwn(input, name)).map(name => [name, input[name]] as const),
    ...Object.entries(input).filter(([name]) => !FIRST.includes(name)),
  ]);

/** Said before the rest, so that nobody allows what they have not seen without knowing. */
function bounded(text: string): string {
  if (text.length <= MAX_DETAILS_LENGTH) return text;
  const cut = text.slice(0, MAX_DETAILS_LENGTH).toWellFormed();
  const hash = hashOf(text).slice(0, 16);
  return `Only the first ${MAX_DETAILS_LENGTH} of ${text.length} characters are shown (SHA-256 of all: ${hash}…).\n\n${cut}`;
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
