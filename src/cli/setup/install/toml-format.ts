import type { EntryValue } from './clients.ts';
import {
  applyEdits,
  type ConfigFormat,
  configInvalid,
  indentAt,
  leaves,
  lineEnding,
  wholeLines,
} from './config-format.ts';

/** A header `[a.b]` and the keys below it. The first section is the top of the file, before any header. */
interface TomlSection {
  path: string[];
  /** True for the header of an array of tables, `[[a.b]]`. */
  array: boolean;
  start: number;
  /** End of the header or of the last key; comments and blank lines after it belong to the next section. */
  end: number;
}

/** A line `key = value`; `path` starts at the top of the file. */
interface TomlEntry {
  path: string[];
  section: TomlSection;
  /** The inline table (`{ … }`) that contains this entry. */
  inside: TomlEntry | null;
  isTable: boolean;
  start: number;
  valueStart: number;
  end: number;
}

interface TomlDocument {
  sections: TomlSection[];
  entries: TomlEntry[];
}

const BARE_KEY = /[A-Za-z0-9_-]+/y;
const BASIC = /"(?:[^"\\\r\n]|\\.)*"/y;
const LITERAL = /'[^'\r\n]*'/y;
const LONG = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}/y;
const PLAIN = /(?:true|false|[+-]?(?:inf|nan)|[+-]?\d[\w+.:-]*(?: \d\d:[\w+.:-]*)?)(?![\w])/y;
const SPACE = /[ \t]*/y;
const SPACE_AND_LINES = /(?:[ \t]|\r?\n|#[^\r\n]*)*/y;
const LINE_END = /[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)/y;

/** Finds the positions of sections and keys, so that one key can be changed and every other byte stays. Reads no values. */
function scanToml(text: string): TomlDocument {
  let at = 0;
  let section: TomlSection = { path: [], array: false, start: 0, end: 0 };
  const document: TomlDocument = { sections: [section], entries: [] };

  for (;;) {
    take(SPACE_AND_LINES);
    if (at >= text.length) return document;
    if (text[at] === '[') header();
    else entry([...section.path], null);
    section.end = at;
    if (take(LINE_END) === null) throw fail('expected the end of the line');
  }

  function header(): void {
    const start = at;
    const array = text.startsWith('[[', at);
    at += array ? 2 : 1;
    section = { path: keys(), array, start, end: at };
    document.sections.push(section);
    expect(array ? ']]' : ']');
  }

  function entry(prefix: string[], inside: TomlEntry | null): void {
    const start = at;
    const path = [...prefix, ...keys()];
    expect('=');
    take(SPACE);
    const found: TomlEntry = {
      path,
      section,
      inside,
      isTable: text[at] === '{',
      start,
      valueStart: at,
      end: at,
    };
    document.entries.push(found);
    value(found);
    found.end = at;
  }

  function value(owner: TomlEntry): void {
    if (text[at] === '[') list(']', () => value({ ...owner, path: [...owner.path, '[]'] }));
    else if (text[at] === '{') list('}', () => entry(owner.path, owner));
    else if (!(take(LONG) ?? take(BASIC) ?? take(LITERAL) ?? take(PLAIN))) throw fail('not a TOML value');
  }

  function list(close: string, item: () => void): void {
    at++;
    for (;;) {
      take(SPACE_AND_LINES);
      if (text[at] === close) break;
      item();
      take(SPACE_AND_LINES);
      if (text[at] === close) break;
      expect(',');
    }
    at++;
  }

  function keys(): string[] {
    const path: string[] = [];
    do {
      take(SPACE);
      const key = take(BARE_KEY) ?? take(BASIC) ?? take(LITERAL);
      if (key === null) throw fail('expected a key');
      path.push(plainKey(key));
      take(SPACE);
    } while (text[at] === '.' && ++at);
    return path;
  }

  function expect(token: string): void {
    if (!text.startsWith(token, at)) throw fail(`expected \`${token}\``);
    at += token.length;
  }

  function take(pattern: RegExp): string | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  }

  function fail(problem: string) {
    return configInvalid(text, at, `not valid TOML (${problem})`);
  }
}

function plainKey(key: string): string {
  if (key.startsWith("'")) return key.slice(1, -1);
  if (!key.startsWith('"')) return key;
  try {
    return JSON.parse(key);
  } catch {
    // The key has an escape sequence that only TOML knows, so it cannot be Squad's key.
    return key;
  }
}

export const tomlFormat: ConfigFormat = {
  put(text, path, entry) {
    return leaves(entry).reduce(
      (result, [keys, value]) => set(result, [...path, ...keys], literal(value)),
      text,
    );
  },

  remove(text, path) {
    const { sections, entries } = scanToml(text);
    const section = sections.findLast(({ path: at }) => at.length > 0 && isUnder(at, path));
    const loose = entries.find(entry => isUnder(entry.path, path) && !isUnder(entry.section.path, path));
    if (section) return tomlFormat.remove(cutLines(text, section.start, section.end, true), path);
    if (!loose) return text;
    const next = loose.inside
      ? cutFromInlineTable(text, loose)
      : cutLines(text, loose.start, loose.end, false);
    return tomlFormat.remove(next, path);
  },

  fields(text, path) {
    const { sections, entries } = scanToml(text);
    const places = [...sections, ...entries].filter(place => isUnder(place.path, path));
    if (places.length === 0) return null;
    return [...new Set(places.flatMap(place => place.path[path.length] ?? []))];
  },
};

/** TOML has four ways to write a table; the new key goes next to its neighbours. */
function set(text: string, path: string[], value: string): string {
  const document = scanToml(text);
  refuseWhatCannotHold(text, document, path);
  const { sections, entries } = document;
  const eol = lineEnding(text);
  const parent = path.slice(0, -1);

  const same = entries.find(entry => isSame(entry.path, path));
  if (same) return applyEdits(text, [{ at: same.valueStart, cut: same.end - same.valueStart, text: value }]);

  const inline = entries.findLast(entry => entry.isTable && isUnder(path, entry.path));
  if (inline) {
    const isEmpty = text.slice(inline.valueStart + 1, inline.end - 1).trim() === '';
    const added = `${keyText(path.slice(inline.path.length))} = ${value}`;
    const at = text.slice(0, inline.end - 1).trimEnd().length;
    return applyEdits(text, [{ at, text: isEmpty ? ` ${added} ` : `, ${added}` }]);
  }

  const table = sections.find(section => isSame(section.path, parent) && parent.length > 0);
  const isDotted = (entry: TomlEntry) => !entry.inside && entry.section.path.length < parent.length;
  const neighbour = entries.findLast(entry => isDotted(entry) && isUnder(entry.path, parent));
  if (table ?? neighbour) {
    const holder = table ?? (neighbour as TomlEntry).section;
    const end = table?.end ?? (neighbour as TomlEntry).end;
    const line = `${eol}${indentAt(text, end)}${keyText(path.slice(holder.path.length))} = ${value}`;
    return applyEdits(text, [{ at: lineEnd(text, end), text: line }]);
  }

  const sibling = sections.findLast(
    section => section.path.length > 1 && isUnder(section.path, parent.slice(0, 2)),
  );
  const at = sibling ? lineEnd(text, sibling.end) : text.length;
  const gap = text.slice(0, at).trim() === '' ? '' : text.slice(0, at).endsWith('\n') ? eol : eol + eol;
  const added = `${gap}[${keyText(parent)}]${eol}${keyText(path.slice(-1))} = ${value}`;
  return applyEdits(text, [{ at, text: sibling ? added : added + eol }]);
}

function refuseWhatCannotHold(text: string, { sections, entries }: TomlDocument, path: string[]): void {
  const list = sections.find(section => section.array && isUnder(path, section.path));
  const scalar = entries.find(
    entry => !entry.isTable && entry.path.length < path.length && isUnder(path, entry.path),
  );
  const obstacle = list ?? scalar;
  if (obstacle) throw configInvalid(text, obstacle.start, `\`${keyText(obstacle.path)}\` should be a table`);
}

function cutFromInlineTable(text: string, { start, end }: TomlEntry): string {
  const following = /^\s*,[ \t]*/.exec(text.slice(end));
  if (following) return applyEdits(text, [{ at: start, cut: end + following[0].length - start }]);
  const preceding = /,?\s*$/.exec(text.slice(0, start))?.[0].length ?? 0;
  return applyEdits(text, [{ at: start - preceding, cut: end - start + preceding }]);
}

function cutLines(text: string, start: number, end: number, withBlankBefore: boolean): string {
  const [from, to] = wholeLines(text, start, lineEnd(text, end));
  const blank = withBlankBefore ? /(?<=\n)[ \t]*\r?\n$/.exec(text.slice(0, from)) : null;
  const first = from - (blank?.[0].length ?? 0);
  return applyEdits(text, [{ at: first, cut: to - first }]);
}

const isUnder = (path: string[], prefix: string[]) => prefix.every((key, index) => path[index] === key);
const isSame = (a: string[], b: string[]) => a.length === b.length && isUnder(a, b);

const lineEnd = (text: string, offset: number) =>
  offset + (/^[^\r\n]*/.exec(text.slice(offset))?.[0].length ?? 0);

const keyText = (path: string[]) =>
  path.map(key => (/^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key))).join('.');

/** JSON's string escapes are valid in TOML too, but TOML also requires DEL to be escaped. */
const quoted = (text: string) => JSON.stringify(text).replaceAll('\u007f', '\\u007f');

function literal(value: EntryValue): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  return String(value);
}
