import { isObject } from '../../base/json.ts';
import { visualKey } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { type InboxField, type InboxItem, NO, YES } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { looksSecret } from '../gateway/secrets.ts';
import type { Runner } from '../runs/runner.ts';
import { parseJson } from '../text.ts';
import { limitsOf } from './answer.ts';
import type { Inbox } from './inbox.ts';

type Json = Record<string, unknown>;

export type Elicited =
  | { action: 'accept'; content: Json }
  | { action: 'decline' }
  /** Nobody answered the question. */
  | { action: 'cancel' };

interface Form {
  kind: 'question' | 'approval';
  question: string;
  fields: InboxField[];
}

/** Limits in characters; for the whole form in bytes. A larger form is too much for a person. */
const MAX_LENGTH = { name: 100, title: 200, description: 1_000, choice: 200, whole: 64 * 1024 };
const MAX = { fields: 50, choices: 200 };

/**
 * Converts a server's `elicitation/create` to a form for the inbox. Null if it cannot be shown as a form, or seems to
 * ask for a secret. URL mode is not supported: users should not open a link because an agent's server says so.
 */
export function formOf({ mode = 'form', message, requestedSchema }: Json): Form | null {
  if (mode !== 'form' || typeof message !== 'string' || message.trim() === '') return null;
  const { properties, required } = isObject(requestedSchema) ? requestedSchema : {};
  const named = Object.entries(isObject(properties) ? properties : {});
  if (named.length > MAX.fields) return null;
  const fields = named.map(([name, schema]) =>
    fieldOf(name, isObject(schema) ? schema : {}, Array.isArray(required) && required.includes(name)),
  );
  if (!fields.every(field => field !== null)) return null;
  if (fields.some(isTyped) && looksSecret(message)) return null;
  if (Buffer.byteLength(JSON.stringify([message, fields])) > MAX_LENGTH.whole) return null;
  return { kind: fields.length > 0 ? 'question' : 'approval', question: message, fields };
}

/** The reply that the server gets. */
export function elicited({ state, answer, fields }: InboxItem): Elicited {
  if (state !== 'answered' || answer === null) return { action: 'cancel' };
  if (answer === NO) return { action: 'decline' };
  if (fields.length === 0) return answer === YES ? { action: 'accept', content: {} } : { action: 'decline' };
  const content = parseJson(answer);
  return isObject(content) ? { action: 'accept', content } : { action: 'cancel' };
}

function fieldOf(name: string, schema: Json, isRequired: boolean): InboxField | null {
  const choices = choicesIn(schema);
  const type = typeOf(schema, choices);
  if (type === null) return null;
  const title = typeof schema.title === 'string' ? schema.title : name;
  const description = typeof schema.description === 'string' ? schema.description : null;
  const field = { name, title, description, type, choices, isRequired, ...limitsOf(schema) };
  const texts = [name, title, description ?? '', String(schema.format ?? '')];
  return canBeShown(field) && !(isTyped(field) && texts.some(looksSecret)) ? field : null;
}

/** Whether the user types into the field. Only such a field can contain a secret. */
const isTyped = ({ type }: InboxField): boolean => type === 'text' || type === 'number';

function canBeShown({ name, title, description, choices }: InboxField): boolean {
  return (
    isText(name, MAX_LENGTH.name) &&
    isText(title, MAX_LENGTH.title) &&
    isText(description ?? '', MAX_LENGTH.description) &&
    choices.length <= MAX.choices &&
    choices.every(choice => isText(choice, MAX_LENGTH.choice)) &&
    new Set(choices.map(visualKey)).size === choices.length
  );
}

const isText = (text: string, most: number): boolean =>
  text.length <= most && text.isWellFormed() && !text.includes('\0');

function typeOf({ type }: Json, choices: readonly string[]): InboxField['type'] | null {
  if (type === 'array') return choices.length > 0 ? 'choices' : null;
  if (choices.length > 0) return 'choice';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  return type === 'string' ? 'text' : null;
}

/** Choices from `enum`, or from `oneOf`/`anyOf` of constants; for a list, from its items. */
function choicesIn(schema: Json): string[] {
  const of = schema.type === 'array' && isObject(schema.items) ? schema.items : schema;
  const named = [of.oneOf, of.anyOf].find(Array.isArray) ?? [];
  const values: unknown[] = Array.isArray(of.enum)
    ? of.enum
    : named.map(each => isObject(each) && each.const);
  return values.slice(0, MAX.choices + 1).filter(value => typeof value === 'string');
}

/**
 * Maximum time for an answer. It is shorter than the half hour that a call to a server may take, because the server
 * still has to use the answer.
 */
const MAX_MINUTES = 25;

export interface ServerAsk {
  run: Run;
  server: string;
  params: Record<string, unknown>;
  /**
   * Aborted when the server withdraws its question, its call has ended, or the server is gone (reason `server_gone`).
   */
  signal: AbortSignal;
}

/** Asks the user a server's form, because the agent's own client cannot ask anybody. */
export async function askForServer(
  { run, server, params, signal }: ServerAsk,
  inbox: Pick<Inbox, 'ask' | 'untilClosed' | 'withdraw' | 'deliver'>,
  runner: Pick<Runner, 'whileWaiting'>,
  usualMinutes: number,
): Promise<Elicited> {
  const form = formOf(params);
  if (form === null) return { action: 'decline' };
  const minutes = Math.min(usualMinutes, MAX_MINUTES);
  const item = await inbox.ask({ run, source: server, ...form, minutes }).catch((thrown: unknown) => {
    // The form is too long, or too many questions are open: the question is declined, as a person would do.
    if (thrown instanceof SquadError) return null;
    throw thrown;
  });
  if (item === null) return { action: 'decline' };
  const closed = await runner.whileWaiting(run.id, () => inbox.untilClosed(item.id, signal));
  if (closed) {
    inbox.deliver(closed);
    return elicited(closed);
  }
  await inbox.withdraw(item.id, signal.reason === 'server_gone' ? 'server_gone' : 'call_ended');
  return { action: 'cancel' };
}
