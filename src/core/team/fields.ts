import { plainWords } from './team-markdown.ts';

export type FieldName = 'by' | 'what' | 'why' | 'date';

const NAMES: Readonly<Record<string, FieldName>> = {
  by: 'by',
  author: 'by',
  'decided by': 'by',
  'proposed by': 'by',
  what: 'what',
  decision: 'what',
  why: 'why',
  rationale: 'why',
  reason: 'why',
  date: 'date',
  when: 'date',
};

/** `**By:** x`, `**By**: x`, `By: x`, with or without a mark of a list or a quote before it. */
const FIELD =
  /^\s{0,3}(?:[-*+>]\s+)?(\*\*|__)?\s?([A-Za-z][A-Za-z /-]{0,30})(\*\*|__)?:\s?(\*\*|__)?(?:\s+|$)(.*)$/s;

export interface Field {
  /** Null for one that is not ours: it ends the one before it all the same. */
  name: FieldName | null;
  value: string;
}

/** Null for a line that is only text. A name that is not ours counts only when it is in bold. */
export function fieldIn(line: string): Field | null {
  const [, open, label, closeBefore, closeAfter, value = ''] = FIELD.exec(line) ?? [];
  if (label === undefined) return null;
  const isBold = open !== undefined && (closeBefore ?? closeAfter) === open;
  if (!isBold && (open ?? closeBefore ?? closeAfter) !== undefined) return null;
  const name = fieldNamed(label);
  return name === null && !isBold ? null : { name, value };
}

export function fieldNamed(label: string): FieldName | null {
  const name = plainWords(label).replace(/:$/, '').toLowerCase();
  return Object.hasOwn(NAMES, name) ? NAMES[name]! : null;
}
