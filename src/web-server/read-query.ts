import { fieldsOf } from './object-schema.ts';
import type { JsonSchema } from './ports.ts';

/** The words of a query as the values its operation expects; what does not fit stays a word, for the operation to refuse. */
export function readQuery(query: URLSearchParams, schema: JsonSchema): Record<string, unknown> {
  const fields = fieldsOf(schema);
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map(name => {
      const given = query.getAll(name);
      const wanted = fields.get(name) ?? {};
      const [only, ...more] = given;
      const list = variants(wanted).find(({ type }) => type === 'array');
      if (list) return [name, given.map(word => asWanted(word, (list.items ?? {}) as JsonSchema))];
      return [name, more.length > 0 ? given : asWanted(only!, wanted)];
    }),
  );
}

function asWanted(word: string, schema: JsonSchema): unknown {
  const types = variants(schema).flatMap(({ type }) => type as string | string[]);
  if ((types.includes('number') || types.includes('integer')) && isNumber(word)) return Number(word);
  if (types.includes('boolean') && (word === 'true' || word === 'false')) return word === 'true';
  return word;
}

const isNumber = (word: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(word);

const variants = (schema: JsonSchema): JsonSchema[] =>
  [schema, ...((schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[])].filter(
    ({ type }) => type !== undefined,
  );
