import type { InboxField } from '../../../src/schema/inbox.ts';

/** Values of a form as JSON, without empty fields. */
export function formAnswer(fields: readonly InboxField[], data: FormData): string {
  const answer: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    if (type === 'choices') answer[name] = data.getAll(name);
    else {
      const text = String(data.get(name) ?? '');
      if (text !== '')
        answer[name] = type === 'number' ? Number(text) : type === 'boolean' ? text === 'yes' : text;
    }
  }
  return JSON.stringify(answer);
}
