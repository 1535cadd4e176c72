import { createHash } from 'node:crypto';
import { canonicalJson, isObject } from '../../base/json.ts';
import type { Definition } from '../ports/gateway.ts';
import { cutText, withoutHidden } from '../text.ts';

const MAX_NAME_LENGTH = 128;
/** A schema inside a schema counts as one level, whatever it is kept in. */
const MAX_SCHEMA_DEPTH = 32;
const MAX_SCHEMAS = 2_000;
/** Lists and values that are no schemas. */
const MAX_DEPTH = 100;
const MAX_PARTS = 50_000;
/** Keywords whose value holds schemas by name: no schema itself. */
const SCHEMAS_BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/**
 * A definition as a server lists it, fit to be shown: what no reader sees is gone, and so is `_meta`, which is for programs
 * and may be another each time. Null: it is none, or more than one may be; `definitionFault` says what. `redact` gets each
 * text as it will be shown, but whole: what nobody sees can part a secret, and a cut can halve one.
 */
export function definitionOf(raw: unknown, redact: Redact = asItIs): Definition | null {
  const read = readDefinition(raw, redact);
  return typeof read === 'string' ? null : read;
}

/** Why it is no definition to hand on, in a clause; null when it is one. */
export function definitionFault(raw: unknown): string | null {
  const read = readDefinition(raw, asItIs);
  return typeof read === 'string' ? read : null;
}

type Redact = (text: string) => string;
const asItIs: Redact = text => text;

/**
 * The same for the same definition in whatever order its keys are. Covers all that is handed on, icons and annotations too:
 * whatever could change without a new hash could change what an agent or its client does without anybody's approval.
 */
export function hashOf(definition: Definition): string {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const { _meta, ...handedOn } = definition;
  const hash = createHash('sha256').update(canonicalJson(handedOn)).digest('hex');
  hashes.set(definition, hash);
  return hash;
}

/** Long lists are compared again and again, and a definition is never changed. */
const hashes = new WeakMap<Definition, string>();

function readDefinition(raw: unknown, redact: Redact): Definition | string {
  if (!isObject(raw)) return 'it is not an object';
  const { _meta, ...fields } = raw as Record<string, unknown>;
  const { name } = fields;
  if (typeof name !== 'string' || name === '') return 'it has no name';
  if (name.length > MAX_NAME_LENGTH) return `its name has more than ${MAX_NAME_LENGTH} characters`;
  // The server knows it by this name and no other, so it cannot be mended.
  if (withoutHidden(name) !== name) return 'its name has control or invisible characters';
  try {
    return clean(
      fields,
      { level: 0, depth: 0, isMap: false },
      { schemas: 0, parts: 0 },
      redact,
    ) as Definition;
  } catch (thrown) {
    if (thrown instanceof Excess) return thrown.message;
    throw thrown;
  }
}

class Excess extends Error {}

interface Place {
  /** Of schemas; the definition itself is 0. */
  level: number;
  depth: number;
  /** Its keys are names, its values schemas. */
  isMap: boolean;
}

function clean(
  value: unknown,
  place: Place,
  seen: { schemas: number; parts: number },
  redact: Redact,
): unknown {
  if (++seen.parts > MAX_PARTS || place.depth > MAX_DEPTH) throw new Excess('it is too large or too deep');
  if (typeof value === 'string') return redact(withoutHidden(value));
  if (typeof value !== 'object' || value === null) return value;
  const depth = place.depth + 1;
  if (Array.isArray(value))
    return value.map(element => clean(element, { ...place, depth, isMap: false }, seen, redact));
  const level = place.isMap ? place.level : place.level + 1;
  if (level - 1 > MAX_SCHEMA_DEPTH) throw new Excess(`its schemas are more than ${MAX_SCHEMA_DEPTH} deep`);
  if (!place.isMap && ++seen.schemas > MAX_SCHEMAS)
    throw new Excess(`it has more than ${MAX_SCHEMAS} schemas`);
  const fields = Object.entries(value)
    .filter(([key]) => key !== '__proto__')
    .map(([key, field]) => {
      // An agent has to send this key as it is, so it cannot be mended either.
      if (withoutHidden(key) !== key) throw new Excess('a key in it has control or invisible characters');
      if (typeof field === 'string' && (key === 'description' || key === 'title'))
        return [key, cutText(redact(withoutHidden(field)))];
      const isMap = !place.isMap && SCHEMAS_BY_NAME.includes(key);
      return [key, clean(field, { level, depth, isMap }, seen, redact)];
    });
  return Object.fromEntries(fields);
}
