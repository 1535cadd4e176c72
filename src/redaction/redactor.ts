import { type Form, formsOf, searchFor } from './secret-forms.ts';

/** A value that nobody but its server is to see. */
export interface Secret {
  /** What stands in its place. */
  name: string;
  value: string;
}

export interface Redactor {
  /** The same string when there was nothing to take out. */
  text(raw: string): string;
  /** Strings, numbers and keys of a JSON value; the same value when there was nothing to take out. */
  deep<T>(value: T): T;
  /**
   * Whether a text may hold a secret: false is certain, also for the JSON text of a value. JSON that spells characters by
   * number, or holds a text with escapes of its own, could hide one, so it counts.
   */
  hits(raw: string): boolean;
}

interface Needle extends Form {
  name: string;
}

interface Range {
  from: number;
  to: number;
  needle: Needle;
}

/** No value of JSON that anybody means is deeper. */
const MAX_DEPTH = 500;

export function createRedactor(secrets: readonly Secret[]): Redactor {
  const needles = needlesOf(secrets);
  const holds = needles.length === 0 ? () => false : searchFor(needles.map(({ text }) => text));
  const text = (raw: string) => (holds(raw) ? cutOut(raw, rangesOf(raw, needles), needles) : raw);
  return {
    text,
    deep: value => (needles.length === 0 ? value : (deep(value, text, 0) as typeof value)),
    hits: raw => holds(raw) || (needles.length > 0 && /\\[u/\\]/.test(raw)),
  };
}

/** Longest first; of two secrets with the same value the first gives the name. */
function needlesOf(secrets: readonly Secret[]): Needle[] {
  const needles = new Map<string, Needle>();
  for (const { name, value } of secrets)
    for (const form of formsOf(value)) if (!needles.has(form.text)) needles.set(form.text, { ...form, name });
  return [...needles.values()].sort((a, b) => b.text.length - a.text.length);
}

/** Where secrets are, in order; what overlaps is one, named by the longest. */
function rangesOf(raw: string, needles: readonly Needle[]): Range[] {
  const found = needles
    .flatMap(needle => occurrences(raw, needle))
    .sort((a, b) => a.from - b.from || b.to - a.to);
  const ranges: Range[] = [];
  for (const range of found) {
    const last = ranges.at(-1);
    if (!last || range.from >= last.to) ranges.push(range);
    else {
      last.to = Math.max(last.to, range.to);
      if (range.needle.text.length > last.needle.text.length) last.needle = range.needle;
    }
  }
  return ranges;
}

function occurrences(raw: string, needle: Needle): Range[] {
  const ranges: Range[] = [];
  for (let at = raw.indexOf(needle.text); at >= 0; at = raw.indexOf(needle.text, at + 1)) {
    const from = at - edge(raw, at - 1, needle.before);
    const end = at + needle.text.length;
    const to = end + edge(raw, end, needle.after);
    const last = ranges.at(-1);
    // A secret that repeats itself would have as many as the text has characters.
    if (last && from < last.to) last.to = to;
    else ranges.push({ from, to, needle });
  }
  return ranges;
}

const edge = (raw: string, at: number, most: number): number =>
  most > 0 && /^[A-Za-z0-9+/_-]$/.test(raw.charAt(at)) ? 1 : 0;

function cutOut(raw: string, ranges: readonly Range[], needles: readonly Needle[]): string {
  let done = '';
  let at = 0;
  for (const { from, to, needle } of ranges) {
    done += raw.slice(at, from) + markFor(needle, needles);
    at = to;
  }
  return done + raw.slice(at);
}

/** A secret can be a word of our own marks. */
function markFor({ name }: Needle, needles: readonly Needle[]): string {
  const marks = [`[secret ${name}]`, '[secret]', '[hidden]'];
  return marks.find(mark => !needles.some(({ text }) => mark.includes(text))) ?? '***';
}

/** A secret of digits comes back as a number from servers that mean well. */
function numberOrMark(value: number, text: (raw: string) => string): number | string {
  const written = String(value);
  const clean = text(written);
  return clean === written ? value : clean;
}

function deep(value: unknown, text: (raw: string) => string, depth: number): unknown {
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return numberOrMark(value, text);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return '[too deep to be shown]';
  if (Array.isArray(value)) {
    const elements = value.map(element => deep(element, text, depth + 1));
    return elements.some((element, index) => element !== value[index]) ? elements : value;
  }
  let isSame = true;
  const fields = Object.entries(value).map(([key, field]) => {
    const clean: [string, unknown] = [text(key), deep(field, text, depth + 1)];
    if (clean[0] !== key || clean[1] !== field) isSame = false;
    return clean;
  });
  return isSame ? value : Object.fromEntries(fields);
}
