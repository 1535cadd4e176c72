import type { Quote } from './quote.ts';

const LONGEST_MESSAGE = 1_000;

/** What a body says: the message in it, where it is an error as all providers write one, else how it begins. Null: nothing. */
export function saidIn(body: string, quote: Quote): string | null {
  const message = messageIn(parsed(body));
  if (message !== null) return quote(message, LONGEST_MESSAGE);
  return body.trim() === '' ? null : `“${quote(body)}”`;
}

/** The words in an error, in the shape of whatever provider. */
export function messageIn(value: unknown): string | null {
  if (Array.isArray(value)) return messageIn(value[0]);
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail, response } = value as Record<string, unknown>;
  for (const words of [error, message, detail]) if (typeof words === 'string' && words.trim()) return words;
  return messageIn(error ?? response);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
