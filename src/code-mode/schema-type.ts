import { isObject } from '../base/json.ts';
import { percentDecoded } from '../base/text.ts';
import type { CodeTool } from './code-mode.ts';

/** A description as a doc comment. Text from a server cannot end the comment. */
export function docComment(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text.trim() === '') return '';
  const lines = text.trim().split(LINE_END).map(clean);
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  const body = lines.map(line => `${indent} * ${line}`.trimEnd());
  return `${[`${indent}/**`, ...body, `${indent} */`].join('\n')}\n`;
}

/** All line ends of JavaScript, and some that only editors know. */
const LINE_END = /\r\n|[\n\r\u2028\u2029\u0085\v\f]/;

const clean = (line: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removes control characters
  line.replaceAll(/[\x00-\x08\x0e-\x1f\x7f]/g, '').replaceAll('*/', '* /');

/** The target of a `$ref` within the same schema. Undefined if it is missing or in another document. */
function resolveReference(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = (percentDecoded(step) ?? step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

/** Property names with a meaning on every object. */
const RESERVED = new Set([
  ...['then', 'toJSON', 'toString', 'valueOf', 'constructor', 'prototype', 'hasOwnProperty', '__proto__'],
]);

/** Gives every tool a unique identifier: its own name if that is one, or else a name derived from it. */
export function nameTools<T extends { name: string }>(tools: readonly T[]): Map<string, T> {
  const named = new Map<string, T>();
  const isPlain = ({ name }: T) => identifierOf(name) === name;
  // Tools that can keep their names come first.
  for (const tool of [...tools.filter(isPlain), ...tools.filter(tool => !isPlain(tool))])
    named.set(
      unique(identifierOf(tool.name), name => named.has(name)),
      tool,
    );
  return named;
}

function identifierOf(name: string): string {
  const legal = name.replaceAll(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=\d|$)/, '_');
  return RESERVED.has(legal) ? `${legal}_` : legal;
}

function unique(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}_${number}`)) number++;
  return `${name}_${number}`;
}

type Schema = Readonly<Record<string, unknown>>;

/** A schema as a TypeScript type, and the named types it refers to. */
export interface SchemaType {
  type: string;
  named: { name: string; type: string }[];
}

/** Limits of a schema. Deeper or larger parts become `unknown`. */
const MAX_DEPTH = 12;
const MAX_PARTS = 2000;

/** JSON Schema as TypeScript for the model to read. Constraints without an equivalent become `unknown`, never a narrower type. */
export function typeOfSchema(root: unknown, prefix: string): SchemaType {
  const names = new Map<string, string>();
  const named: SchemaType['named'] = [];
  let parts = 0;

  function typeOf(schema: unknown, depth: number): string {
    if (schema === false) return 'never';
    if (!isObject(schema) || depth > MAX_DEPTH || ++parts > MAX_PARTS) return 'unknown';
    const all = [
      ...(typeof schema.$ref === 'string' ? [referenceType(schema.$ref)] : []),
      ...(Array.isArray(schema.allOf) ? schema.allOf.map(each => typeOf(each, depth + 1)) : []),
      ...alternatives(schema).map(each => anyOf(each.map(one => typeOf(one, depth + 1)))),
      ...('const' in schema ? [literal(schema.const)] : []),
      ...(Array.isArray(schema.enum) ? [anyOf(schema.enum.map(literal))] : byKind(schema, depth)),
    ].filter(type => type !== 'unknown');
    const operands = all.length > 1 ? all.map(inBrackets) : all;
    const type = all.length === 0 ? 'unknown' : [...new Set(operands)].join(' & ');
    return schema.nullable === true ? anyOf([type, 'null']) : type;
  }

  function byKind(schema: Schema, depth: number): string[] {
    const kinds = Array.isArray(schema.type) ? schema.type : [schema.type ?? impliedKind(schema)];
    return [anyOf(kinds.map(kind => ofKind(kind, schema, depth)))];
  }

  function ofKind(kind: unknown, schema: Schema, depth: number): string {
    if (kind === 'string' || kind === 'boolean' || kind === 'null') return kind;
    if (kind === 'number' || kind === 'integer') return 'number';
    if (kind === 'array') return arrayType(schema, depth);
    return kind === 'object' ? objectType(schema, depth) : 'unknown';
  }

  function arrayType(schema: Schema, depth: number): string {
    const first = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : null);
    const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    if (!Array.isArray(first)) return `Array<${typeOf(rest, depth + 1)}>`;
    const least = typeof schema.minItems === 'number' ? schema.minItems : 0;
    const each = first.map((one, at) => `${inBrackets(typeOf(one, depth + 1))}${at < least ? '' : '?'}`);
    if (rest === false) return `[${each.join(', ')}]`;
    return `[${[...each, `...Array<${typeOf(rest, depth + 1)}>`].join(', ')}]`;
  }

  function objectType(schema: Schema, depth: number): string {
    const others = [
      schema.additionalProperties,
      ...Object.values(isObject(schema.patternProperties) ? schema.patternProperties : {}),
    ].filter(isObject);
    const record = others.length > 0 && `Record<string, ${anyOf(others.map(one => typeOf(one, depth + 1)))}>`;
    const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
    if (properties.length === 0)
      return (
        record ||
        (schema.additionalProperties === false ? 'Record<string, never>' : 'Record<string, unknown>')
      );
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const indent = '  '.repeat(depth + 1);
    const lines = properties.map(([name, of]) => {
      const mark = required.has(name) ? '' : '?';
      const type = typeOf(of, depth + 1);
      return `${docComment(describe(of), indent)}${indent}${propertyName(name)}${mark}: ${type};\n`;
    });
    const object = `{\n${lines.join('')}${'  '.repeat(depth)}}`;
    return record ? `${object} & ${record}` : object;
  }

  /** References become named types, because a type may contain itself. */
  function referenceType(ref: string): string {
    const known = names.get(ref);
    if (known) return known;
    const target = resolveReference(root, ref);
    if (target === undefined || parts > MAX_PARTS) return 'unknown';
    const last = identifierOf(ref.split('/').at(-1)!.replace('#', '') || 'Root');
    const taken = new Set(names.values());
    const name = unique(`${prefix}_${last}`, each => taken.has(each));
    names.set(ref, name);
    const at = named.push({ name, type: 'unknown' }) - 1;
    named[at]!.type = typeOf(target, 0);
    return name;
  }

  return { type: typeOf(root, 0), named };
}

const alternatives = (schema: Schema): unknown[][] =>
  [schema.anyOf, schema.oneOf].filter(each => Array.isArray(each) && each.length > 0) as unknown[][];

/** Many schemas leave the type out where other keywords imply it. */
function impliedKind(schema: Schema): string | undefined {
  if (['properties', 'additionalProperties', 'patternProperties'].some(key => isObject(schema[key])))
    return 'object';
  return 'items' in schema || 'prefixItems' in schema ? 'array' : undefined;
}

function describe(schema: unknown): unknown {
  if (!isObject(schema)) return undefined;
  const standard = schema.default === undefined ? '' : `Default: ${literalText(schema.default)}`;
  const text = typeof schema.description === 'string' ? schema.description : '';
  return [text, standard].filter(Boolean).join('\n');
}

function literal(value: unknown): string {
  const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain ? literalText(value) : 'unknown';
}

/** Escapes line ends that JSON allows in a string and older JavaScript does not. */
const literalText = (value: unknown): string =>
  (JSON.stringify(value) ?? 'undefined').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literalText(name));

/** A union with `unknown` is `unknown`. */
function anyOf(types: string[]): string {
  const each = [...new Set(types)];
  if (each.length === 0 || each.includes('unknown')) return 'unknown';
  return each.join(' | ');
}

const inBrackets = (type: string): string => (/[|&]/.test(type) ? `(${type})` : type);

const PREAMBLE = `// The program is the body of an async function: await and return work at its top level.
// It may be TypeScript that needs no more than its types removed (no enum, namespace, parameter property or import).
// You get back what it prints with console and what it returns, as JSON. It has only the language, timers and:
`;

export function declare(tools: ReadonlyMap<string, CodeTool>): string {
  const types: string[] = [];
  const functions: string[] = [];
  for (const [name, tool] of tools) {
    const input = typeOfSchema(tool.inputSchema, `${name}_Input`);
    const output = tool.outputSchema && typeOfSchema(tool.outputSchema, `${name}_Output`);
    types.push(...declared(`${name}_Input`, input), ...(output ? declared(`${name}_Output`, output) : []));
    const mark = isNeeded(tool.inputSchema) ? '' : '?';
    // Without an output schema nothing is known about the result.
    const answer = output ? `${name}_Output` : 'unknown';
    functions.push(
      `${docComment(tool.description, '  ')}  ${name}(input${mark}: ${name}_Input): Promise<${answer}>;\n`,
    );
  }
  return `${PREAMBLE}\n${types.join('')}declare const tools: {\n${functions.join('')}};\n`;
}

const declared = (name: string, { type, named }: SchemaType): string[] =>
  [{ name, type }, ...named].map(each =>
    each.type.startsWith('{') && !/^}(?!$)/m.test(each.type)
      ? `interface ${each.name} ${each.type}\n\n`
      : `type ${each.name} = ${each.type};\n\n`,
  );

const isNeeded = ({ required }: CodeTool['inputSchema']): boolean =>
  Array.isArray(required) && required.length > 0;
