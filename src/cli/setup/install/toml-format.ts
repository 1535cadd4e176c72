import type { EntryValue } from './clients.ts';
import { applyEdits, type ConfigFormat, configInvalid, lineEnding, wholeLines } from './config-format.ts';
import { scanToml, type TomlDocument, type TomlEntry } from './toml-scan.ts';

export const tomlFormat: ConfigFormat = {
  put(text, path, entry) {
    const values = Object.entries(entry).flatMap(([key, value]): [string[], string][] =>
      typeof value === 'object' && !Array.isArray(value)
        ? Object.entries(value).map(([name, inner]) => [[...path, key, name], literal(inner)])
        : [[[...path, key], literal(value)]],
    );
    return values.reduce((result, [keys, value]) => set(result, keys, value), text);
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

/** A table can be written in four ways; the new key goes where its neighbours already are. */
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
const indentAt = (text: string, offset: number) =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';

const keyText = (path: string[]) =>
  path.map(key => (/^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key))).join('.');

/** JSON's string escapes are TOML's too, but TOML wants DEL escaped as well. */
const quoted = (text: string) => JSON.stringify(text).replaceAll('\u007f', '\\u007f');

function literal(value: EntryValue): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  return String(value);
}
