import { hiddenWarning, visibleText } from '../../base/text.ts';
import type { InboxField, InboxItem } from '../../schema/inbox.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';

type Json = Record<string, unknown>;

/** The one field of an item that has none of its own. */
const ANSWER = 'answer';

/** An item as what an MCP client is asked for the person in front of it (`elicitation/create`). `asker`: null for a run that has just ended. */
export function clientForm(
  { source, question, details, choices, fields }: InboxItem,
  asker: Run | null,
): { message: string; requestedSchema: Json } {
  const name = asker ? runName(asker) : 'An agent';
  const who = source === null ? name : `${name}, for ${source},`;
  const message = [
    `${who} asks: ${question}`,
    ...(details === null ? [] : [details]),
    ...(asker ? [`Its task: ${runSummary(asker)}`] : []),
  ].join('\n\n');
  const own: InboxField[] = [
    {
      ...{ name: ANSWER, title: 'Answer', description: null, isRequired: true },
      ...{ type: choices.length > 0 ? 'choice' : 'text', choices },
    },
  ];
  const asked = fields.length > 0 ? fields : own;
  const labels = asked.flatMap(({ title, description, choices: some }) => [
    title,
    description ?? '',
    ...some,
  ]);
  const warning = hiddenWarning([message, ...labels].join('\n'), 'This form');
  return {
    // A client may show this in a terminal.
    message: [visibleText(message), ...(warning === null ? [] : [warning])].join('\n\n'),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(asked.map(field => [field.name, propertyOf(field)])),
      required: asked.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    },
  };
}

/** The person's reply to a form; null: none, so the item stays open for others. */
export type FormReply = { answer: string } | 'declined' | null;

/** A closed form is no refusal: whoever closed it may answer elsewhere. */
export function formReply({ fields }: Pick<InboxItem, 'fields'>, response: unknown): FormReply {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: Json };
  if (action === 'decline') return 'declined';
  if (action !== 'accept' || typeof content !== 'object' || content === null) return null;
  if (fields.length > 0) return { answer: JSON.stringify(content) };
  const said = content[ANSWER];
  return typeof said === 'string' && said.trim() !== '' ? { answer: said } : null;
}

function propertyOf({ title, description, type, choices, ...limits }: InboxField): Json {
  const words = {
    title: visibleText(title),
    ...(description !== null && { description: visibleText(description) }),
  };
  if (type === 'choice') {
    const enumNames = choices.map(visibleText);
    const isPlain = enumNames.every((shown, at) => shown === choices[at]);
    return { ...words, type: 'string', enum: choices, ...(!isPlain && { enumNames }) };
  }
  if (type === 'choices') return { ...words, type: 'array', items: { type: 'string', enum: choices } };
  const { isInteger, minimum, maximum, minLength, maxLength, pattern, format } = limits;
  const wanted = { minimum, maximum, minLength, maxLength, pattern, format };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const kind = isInteger ? 'integer' : type === 'text' ? 'string' : type;
  return { ...words, type: kind, ...Object.fromEntries(given) };
}
