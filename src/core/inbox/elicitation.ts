import { type InboxField, type InboxItem, NO, YES } from '../../schema/inbox.ts';
import { parseJson } from '../text.ts';

type Json = Record<string, unknown>;

export type Elicited =
  | { action: 'accept'; content: Json }
  | { action: 'decline' }
  /** Nobody said yes or no. */
  | { action: 'cancel' };

/** What a server's form comes to in the inbox. */
export interface Form {
  kind: 'question' | 'approval';
  question: string;
  fields: InboxField[];
}

/** Nobody should be led to type these into a page that an agent's server has worded. */
const SECRET = /pass(word|phrase|code)|secret|token|api.?key|credential|private.?key|\bpin\b/i;

/**
 * A server's `elicitation/create` as something a person can be asked. Null: it cannot be put so, or asks for a secret. Only forms:
 * a link that a server wants opened is nothing to be opened by word of an agent.
 */
export function formOf({ mode = 'form', message, requestedSchema }: Json): Form | null {
  if (mode !== 'form' || typeof message !== 'string' || message.trim() === '') return null;
  const { properties, required } = isObject(requestedSchema) ? requestedSchema : {};
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) =>
    fieldOf(name, isObject(schema) ? schema : {}, Array.isArray(required) && required.includes(name)),
  );
  if (!fields.every(field => field !== null)) return null;
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
  const { title, description, format } = schema;
  if ([name, title, description, format].some(text => typeof text === 'string' && SECRET.test(text)))
    return null;
  const choices = choicesIn(schema);
  const type = typeOf(schema, choices);
  if (type === null) return null;
  return {
    name,
    title: typeof title === 'string' ? title : name,
    description: typeof description === 'string' ? description : null,
    type,
    choices,
    isRequired,
  };
}

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
  return values.filter(value => typeof value === 'string');
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
