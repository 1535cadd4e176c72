import { hiddenWarning, visibleText } from '../../base/text.ts';
import type { InboxField, InboxItem } from '../../schema/inbox.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';

type Json = Record<string, unknown>;

/** Name of the only field, for an item without a form. */
const ANSWER = 'answer';

/**
 * The `elicitation/create` request for an MCP client whose user should answer the item. `asker` is null if the run has
 * just ended.
 */
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
  const texts = asked.flatMap(({ title, description, choices: some }) => [title, description ?? '', ...some]);
  const warning = hiddenWarning([message, ...texts].join('\n'), 'This form');
  return {
    // Hidden characters are made visible, because a client may show this text in a terminal.
    message: [visibleText(message), ...(warning === null ? [] : [warning])].join('\n\n'),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(asked.map(field => [field.name, propertyOf(field)])),
      required: asked.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    },
  };
}

/** The person's reply to the form. Null if there was no reply, so that others can still answer the item. */
export type FormReply = { answer: string } | 'declined' | null;

/** Closing the form does not decline the item: the person may answer elsewhere. */
export function formReply({ fields }: Pick<InboxItem, 'fields'>, response: unknown): FormReply {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: Json };
  if (action === 'decline') return 'declined';
  if (action !== 'accept' || typeof content !== 'object' || content === null) return null;
  if (fields.length > 0) return { answer: JSON.stringify(content) };
  const said = content[ANSWER];
  return typeof said === 'string' && said.trim() !== '' ? { answer: said } : null;
}

function propertyOf({ title, description, type, choices, ...limits }: InboxField): Json {
  const labels = {
    title: visibleText(title),
    ...(description !== null && { description: visibleText(description) }),
  };
  if (type === 'choice') {
    const enumNames = choices.map(visibleText);
    const isPlain = enumNames.every((shown, at) => shown === choices[at]);
    return { ...labels, type: 'string', enum: choices, ...(!isPlain && { enumNames }) };
  }
  if (type === 'choices') return { ...labels, type: 'array', items: { type: 'string', enum: choices } };
  const { isInteger, minimum, maximum, minLength, maxLength, pattern, format } = limits;
  const wanted = { minimum, maximum, minLength, maxLength, pattern, format };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const kind = isInteger ? 'integer' : type === 'text' ? 'string' : type;
  return { ...labels, type: kind, ...Object.fromEntries(given) };
}
