import { type Form, formsOf, searchFor } from './secret-forms.ts';

/** A secret value that only one MCP server may see. */
export interface Secret {
  /** Name that replaces the value in texts. */
  name: string;
  value: string;
}

export interface Redactor {
  /** Redacts secrets in a text. Returns the same string when it contains none. */
  text(raw: string): string;
  /** Redacts strings, numbers and keys of a JSON value. Returns the same value when it contains no secret. */
  deep<T>(value: T): T;
  /**
   * Whether a text may contain a secret. False is certain, also for the JSON of a value. JSON with `\u` escapes or
   * nested escapes could hide a secret, so the answer for it is true.
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

/** Maximum depth; no normal JSON value is deeper. */
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

/** Sorted by length, longest first. If two secrets have the same value, the name of the first one is used. */
function needlesOf(secrets: readonly Secret[]): Needle[] {
  const needles = new Map<string, Needle>();
  for (const { name, value } of secrets)
    for (const form of formsOf(value)) if (!needles.has(form.text)) needles.set(form.text, { ...form, name });
  return [...needles.values()].sort((a, b) => b.text.length - a.text.length);
}

/** Positions of secrets, in order. Overlapping secrets become one, named after the longest. */
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
    // A secret that overlaps itself could occur as often as the text has characters.
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

/** The mark for a secret. A secret may itself be a word of the usual mark, which must not reveal it. */
function markFor({ name }: Needle, needles: readonly Needle[]): string {
  const marks = [`[secret ${name}]`, '[secret]', '[hidden]'];
  return marks.find(mark => !needles.some(({ text }) => mark.includes(text))) ?? '***';
}

/** Some servers return a secret of digits as a number. */
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
