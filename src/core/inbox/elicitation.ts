import { isObject } from '../../base/json.ts';
import { lookOf } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { type InboxField, type InboxItem, NO, type WithdrawnBecause, YES } from '../../schema/inbox.ts';
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
  /** Nobody said yes or no. */
  | { action: 'cancel' };

/** What a server's form comes to in the inbox. */
interface Form {
  kind: 'question' | 'approval';
  question: string;
  fields: InboxField[];
}

/** In characters, but the whole of it in bytes. Whatever is beyond is nothing a person could be asked. */
const MAX_LENGTH = { name: 100, title: 200, description: 1_000, choice: 200, whole: 64 * 1024 };
const MAX = { fields: 50, choices: 200 };

/**
 * A server's `elicitation/create` as something a person can be asked. Null: it cannot be put so, or asks for what looks like a
 * secret. Only forms: a link that a server wants opened is nothing to be opened by word of an agent.
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

/** What the server is told. */
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
  const words = [name, title, description ?? '', String(schema.format ?? '')];
  return canBeShown(field) && !(isTyped(field) && words.some(looksSecret)) ? field : null;
}

/** What is only picked tells nobody a secret. */
const isTyped = ({ type }: InboxField): boolean => type === 'text' || type === 'number';

function canBeShown({ name, title, description, choices }: InboxField): boolean {
  return (
    isText(name, MAX_LENGTH.name) &&
    isText(title, MAX_LENGTH.title) &&
    isText(description ?? '', MAX_LENGTH.description) &&
    choices.length <= MAX.choices &&
    choices.every(choice => isText(choice, MAX_LENGTH.choice)) &&
    new Set(choices.map(lookOf)).size === choices.length
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

/** `enum`, or `oneOf`/`anyOf` of constants with titles; of a list, what its items may be. */
function choicesIn(schema: Json): string[] {
  const of = schema.type === 'array' && isObject(schema.items) ? schema.items : schema;
  const named = [of.oneOf, of.anyOf].find(Array.isArray) ?? [];
  const values: unknown[] = Array.isArray(of.enum)
    ? of.enum
    : named.map(each => isObject(each) && each.const);
  return values.slice(0, MAX.choices + 1).filter(value => typeof value === 'string');
}

/** A call to another server ends after half an hour, and the server still has to do something with the answer. */
const MAX_MINUTES = 25;

export interface ServerAsk {
  run: Run;
  server: string;
  params: Record<string, unknown>;
  /** Fires when the server takes its question back, the call it was asked in is over, or the server (`server_gone`). */
  signal: AbortSignal;
}

/** Puts a server's form to whoever answers for the user, where the agent's own client has nobody to ask. */
export async function askForServer(
  { run, server, params, signal }: ServerAsk,
  inbox: Pick<Inbox, 'ask' | 'untilSettled' | 'withdraw' | 'handOut'>,
  runner: Pick<Runner, 'whileWaiting'>,
  usualMinutes: number,
): Promise<Elicited> {
  const form = formOf(params);
  if (form === null) return { action: 'decline' };
  const minutes = Math.min(usualMinutes, MAX_MINUTES);
  const item = await inbox.ask({ run, source: server, ...form, minutes }).catch((thrown: unknown) => {
    // It is too long, or too much of it is open: the server is refused, as a person would.
    if (thrown instanceof SquadError) return null;
    throw thrown;
  });
  if (item === null) return { action: 'decline' };
  const settled = await runner.whileWaiting(run.id, () => inbox.untilSettled(item.id, signal));
  if (settled === null) await inbox.withdraw(item.id, whyOver(signal));
  else inbox.handOut(settled);
  return settled === null ? { action: 'cancel' } : elicited(settled);
}

const whyOver = ({ reason }: AbortSignal): WithdrawnBecause =>
  reason === 'server_gone' ? 'server_gone' : 'call_ended';
