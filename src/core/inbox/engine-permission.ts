import { createHash } from 'node:crypto';
import { oneLine, visibleText } from '../../base/text.ts';
import { ALWAYS, type InboxItem, NO, whoAnswered, YES } from '../../schema/inbox.ts';
import type { EngineAnswer } from '../ports/engine.ts';
import type { Ask } from './ask.ts';
import { elicited } from './elicitation.ts';

export interface ToolUse {
  tool: string;
  input: Readonly<Record<string, unknown>>;
  /** The engine's id for this use of the tool. Null if the engine gave none. */
  id: string | null;
}

const MAX_DETAILS_LENGTH = 30_000;
const MAX_NAME_LENGTH = 100;

/** The question for a use of a tool. It always goes to the user: one agent must not give permission to another. */
export function permissionAsk(engine: string, { tool, input, id }: ToolUse): Omit<Ask, 'run'> {
  const name = oneLine(tool, MAX_NAME_LENGTH) || 'a tool without a name';
  return {
    kind: 'permission',
    source: name,
    question: `${engine} wants to run: ${name}`,
    details: bounded(argumentsText(input)),
    to: 'user',
    ...(id !== null && { useKey: `${hashOf(JSON.stringify([id, tool, input]))}.${sameUse(tool, input)}` }),
  };
}

/** Converts an answered item to a permission. Everything except `yes` and `always` means no. */
export function toPermissionAnswer({ state, answer, answeredBy }: InboxItem): EngineAnswer {
  if (state === 'answered' && (answer === YES || answer === ALWAYS)) return { isGiven: true };
  const by = whoAnswered(answeredBy);
  const reason = answer?.startsWith(`${NO}: `) ? answer.slice(NO.length) : '.';
  const why =
    state === 'answered'
      ? `Not allowed: ${by} said no${reason.replace(/(?<![.!?])$/, '.')} Do not try to do it in another way; continue without it, or ask with ask_user.`
      : state === 'expired'
        ? 'Not allowed: the user was asked and nobody answered in time. Continue without it, and say in your report what is missing.'
        : 'Not allowed: the question was withdrawn before anybody answered.';
  return { isGiven: false, why };
}

/** The values of a form. Without them the model reads why there are none. */
export function toFormAnswer(item: InboxItem): EngineAnswer {
  const reply = elicited(item);
  if (reply.action === 'accept') return { isGiven: true, values: reply.content };
  const why =
    reply.action === 'decline'
      ? `${whoAnswered(item.answeredBy)} declined to answer`
      : 'the user was asked and nobody answered in time';
  return {
    isGiven: false,
    why: `No answer: ${why}. Decide yourself, and say in your report what you decided.`,
  };
}

/** Hash of a use without the words in which a model explains a command, which are different each time. */
function sameUse(tool: string, input: ToolUse['input']): string {
  const { description: _, reason: __, justification: ___, ...rest } = input;
  return hashOf(JSON.stringify([tool, typeof input.command === 'string' ? rest : input]));
}

/** True if the user has allowed this use of a tool for the whole run, when the agent asked for it before. */
export function isAllowedForRun(earlier: readonly InboxItem[], useKey: string | undefined): boolean {
  if (useKey === undefined) return false;
  const same = useKey.split('.').at(-1);
  return earlier.some(
    ({ state, answer, useKey: other }) =>
      state === 'answered' && answer === ALWAYS && other?.split('.').at(-1) === same,
  );
}

/** Arguments that a person has to see first. */
const FIRST = ['command', 'cmd', 'script', 'code', 'file_path', 'path', 'url'];
const OPTIONS = 'With: ';

/**
 * Shows a command as the user would type it, then its options. A command that could be mistaken for options, or is not
 * plain text, is shown as JSON.
 */
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

/** The warning comes first, so that nobody allows hidden text without knowing. */
function bounded(text: string): string {
  if (text.length <= MAX_DETAILS_LENGTH) return text;
  const cut = text.slice(0, MAX_DETAILS_LENGTH).toWellFormed();
  const hash = hashOf(text).slice(0, 16);
  return `Only the first ${MAX_DETAILS_LENGTH} of ${text.length} characters are shown (SHA-256 of all: ${hash}…).\n\n${cut}`;
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
