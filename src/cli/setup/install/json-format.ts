import { isDeepStrictEqual } from 'node:util';
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { EntryValue } from './clients.ts';
import {
  applyEdits,
  type ConfigFormat,
  configInvalid,
  type Edit,
  indentAt,
  leaves,
  lineEnding,
  wholeLines,
} from './config-format.ts';

type Json = EntryValue | { [name: string]: Json };

/** JSON with comments and trailing commas, which these clients accept. */
export const jsonFormat: ConfigFormat = {
  put(text, path, entry) {
    const start = text.trim() === '' ? `{}${lineEnding(text)}` : text;
    const existing = findNodeAtLocation(parse(start), path);
    if (existing?.type !== 'object') return set(start, path, entry);
    return leaves(entry).reduce((result, [keys, value]) => set(result, [...path, ...keys], value), start);
  },

  remove(text, path) {
    const property = text.trim() === '' ? undefined : findNodeAtLocation(parse(text), path)?.parent;
    if (!property?.parent?.children) return text;
    const siblings = property.parent.children;
    const index = siblings.indexOf(property);
    const [start, end] = [property.offset, endOf(property)];
    const following = commaIn(text, end, siblings[index + 1]?.offset ?? endOf(property.parent) - 1);
    const previous = siblings[index - 1];
    const preceding = previous && following === null ? commaIn(text, endOf(previous), start) : null;
    const [from, to] = wholeLines(text, start, following === null ? end : following + 1);
    const edits: Edit[] = [{ at: from, cut: to - from }];
    if (preceding !== null) edits.push({ at: preceding, cut: 1 });
    return applyEdits(text, edits);
  },

  fields(text, path) {
    const node = text.trim() === '' ? undefined : findNodeAtLocation(parse(text), path);
    return node ? (node.children ?? []).map(property => String(property.children?.[0]?.value)) : null;
  },
};

function parse(text: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first)
    throw configInvalid(
      text,
      first.offset,
      `not valid JSON (${parseErrorText(printParseErrorCode(first.error))})`,
    );
  if (root?.type !== 'object')
    throw configInvalid(text, root?.offset ?? 0, 'the file should contain a JSON object');
  return root;
}

function set(text: string, path: string[], value: Json): string {
  const root = parse(text);
  const node = findNodeAtLocation(root, path);
  if (node && isDeepStrictEqual(getNodeValue(node), value)) return text;
  if (node)
    return applyEdits(text, [
      { at: node.offset, cut: node.length, text: literal(text, value, indentAt(text, node.offset)) },
    ]);

  let depth = path.length - 1;
  while (depth > 0 && !findNodeAtLocation(root, path.slice(0, depth))) depth--;
  const holder = depth === 0 ? root : (findNodeAtLocation(root, path.slice(0, depth)) as Node);
  if (holder.type !== 'object')
    throw configInvalid(text, holder.offset, `"${path[depth - 1]}" should be an object`);
  const nested = path.slice(depth + 1).reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
  return insert(text, holder, path[depth] as string, nested);
}

function insert(text: string, object: Node, key: string, value: Json): string {
  const close = endOf(object) - 1;
  const children = object.children ?? [];
  const [first] = children;
  const last = children.at(-1);
  const lead = text.slice(object.offset, first?.offset ?? close);
  const eol = lineEnding(text);

  if (!lead.includes('\n') && (first || isOneLine(text, object))) {
    const space = text.includes('": ') ? ' ' : '';
    const property = `${JSON.stringify(key)}:${space}${JSON.stringify(value)}`;
    return applyEdits(text, [
      { at: last ? endOf(last) : close, text: last ? `,${space}${property}` : property },
    ]);
  }

  const outer = indentAt(text, object.offset);
  const inner = first ? indentAt(text, first.offset) : outer + indentUnit(text);
  const after = last ? endOf(last) : object.offset + 1;
  const comma = last ? commaIn(text, after, close) : null;
  const at = lastTokenEnd(text, after, close);
  const property = `${eol}${inner}${JSON.stringify(key)}: ${literal(text, value, inner)}${comma === null ? '' : ','}`;
  const edits: Edit[] = [
    { at, text: text.slice(at, close).includes('\n') ? property : `${property}${eol}${outer}` },
  ];
  if (!last || comma !== null) return applyEdits(text, edits);
  // A comment after the last property stays with it: the comma goes before the comment, the new property after it.
  if (at === after) return applyEdits(text, [{ at, text: `,${edits[0]?.text}` }]);
  return applyEdits(text, [...edits, { at: after, text: ',' }]);
}

const endOf = (node: Node) => node.offset + node.length;

const isOneLine = (text: string, object: Node) => object.parent !== undefined && !text.trim().includes('\n');

const indentUnit = (text: string) => /^(?:\t| +)(?=["/}])/m.exec(text)?.[0] ?? '  ';

const literal = (text: string, value: Json, indent: string) =>
  text.trim() !== '{}' && !text.trim().includes('\n')
    ? JSON.stringify(value)
    : JSON.stringify(value, null, indentUnit(text)).replaceAll('\n', lineEnding(text) + indent);

/** Between two nodes there are only spaces, comments and at most one comma. */
function commaIn(text: string, from: number, to: number): number | null {
  for (const token of tokens(text, from, to)) if (token[0] === ',') return from + token.index;
  return null;
}

function lastTokenEnd(text: string, from: number, to: number): number {
  const last = tokens(text, from, to).at(-1);
  return last ? from + last.index + last[0].length : from;
}

const tokens = (text: string, from: number, to: number) => [
  ...text.slice(from, to).matchAll(/\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|,/g),
];

const parseErrorText = (name: string) =>
  name.replace(/(?<=[a-z])[A-Z]/g, letter => ` ${letter}`).toLowerCase();
