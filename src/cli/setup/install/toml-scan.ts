import { configInvalid } from './config-format.ts';

/** `[a.b]` and the keys below it. The first one is the file's top, before any header. */
interface TomlSection {
  path: string[];
  /** `[[a.b]]` */
  array: boolean;
  start: number;
  /** Where its header or its last key ends: what comes after (comments, blank lines) belongs to the next one. */
  end: number;
}

/** `key = value`, wherever it stands; `path` is from the top of the file. */
export interface TomlEntry {
  path: string[];
  section: TomlSection;
  /** The inline table (`{ … }`) it stands in. */
  inside: TomlEntry | null;
  isTable: boolean;
  start: number;
  valueStart: number;
  end: number;
}

export interface TomlDocument {
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

/** Where things stand in a TOML text. It reads structure, not values: enough to change one key and keep every other byte. */
export function scanToml(text: string): TomlDocument {
  let at = 0;
  let section: TomlSection = { path: [], array: false, start: 0, end: 0 };
  const document: TomlDocument = { sections: [section], entries: [] };

  for (;;) {
    take(SPACE_AND_LINES);
    if (at >= text.length) return document;
    if (text[at] === '[') header();
    else entry([...section.path], null);
    section.end = at;
    if (take(LINE_END) === null) throw fail('the line should end here');
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
      if (key === null) throw fail('a key should stand here');
      path.push(plainKey(key));
      take(SPACE);
    } while (text[at] === '.' && ++at);
    return path;
  }

  function expect(token: string): void {
    if (!text.startsWith(token, at)) throw fail(`\`${token}\` should stand here`);
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
    // An escape only TOML has: such a key cannot be one of ours.
    return key;
  }
}
