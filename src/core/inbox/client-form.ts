import type { InboxField, InboxItem } from '../../schema/inbox.ts';
import { visibleText } from '../../schema/visible-text.ts';

type Json = Record<string, unknown>;

/** The one field of an item that has none of its own. */
const ANSWER = 'answer';

/** An item as what an MCP client is asked for the person in front of it (`elicitation/create`). */
export function clientForm({ runId, source, question, details, choices, fields }: InboxItem): {
  message: string;
  requestedSchema: Json;
} {
  const who = source === null ? `Agent ${runId} asks` : `Agent ${runId} asks, for ${source}`;
  const message = [`${who}: ${question}`, ...(details === null ? [] : [details])].join('\n\n');
  const own: InboxField[] = [
    {
      ...{ name: ANSWER, title: 'Answer', description: null, isRequired: true },
      ...{ type: choices.length > 0 ? 'choice' : 'text', choices },
    },
  ];
  const asked = fields.length > 0 ? fields : own;
  return {
    // A client may show this in a terminal.
    message: visibleText(message),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(asked.map(field => [field.name, propertyOf(field)])),
      required: asked.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    },
  };
}

/** What the person said, as an answer to the item; null: not here. */
export function saidInForm({ fields }: Pick<InboxItem, 'fields'>, response: unknown): string | null {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: Json };
  if (action !== 'accept' || typeof content !== 'object' || content === null) return null;
  if (fields.length > 0) return JSON.stringify(content);
  const said = content[ANSWER];
  return typeof said === 'string' && said.trim() !== '' ? said : null;
}

function propertyOf({ title, description, type, choices, ...limits }: InboxField): Json {
  const words = {
    title: visibleText(title),
    ...(description !== null && { description: visibleText(description) }),
  };
  if (type === 'choice') return { ...words, type: 'string', enum: choices };
  if (type === 'choices') return { ...words, type: 'array', items: { type: 'string', enum: choices } };
  const { isInteger, minimum, maximum, minLength, maxLength, pattern, format } = limits;
  const wanted = { minimum, maximum, minLength, maxLength, pattern, format };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const kind = isInteger ? 'integer' : type === 'text' ? 'string' : type;
  return { ...words, type: kind, ...Object.fromEntries(given) };
}
