import { hash } from 'node:crypto';
import { canonicalJson, isObject } from '../../base/json.ts';
import type { Definition } from '../ports/gateway.ts';
import { cutText, withoutHidden } from '../text.ts';

const MAX_NAME_LENGTH = 128;
/** Maximum depth. Counts schemas inside schemas, not the lists and objects that contain them. */
const MAX_SCHEMA_DEPTH = 32;
const MAX_SCHEMAS = 2_000;
/** Maximum depth of lists and values that are not schemas. */
const MAX_DEPTH = 100;
const MAX_PARTS = 50_000;
/** Keywords whose value is a map from names to schemas, not a schema itself. */
const SCHEMAS_BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/**
 * A listed definition in the form that agents see: without invisible characters and without `_meta`, which is for
 * programs and may differ each time. Null if it is invalid or too large, for the reason in `definitionFault`. `redact`
 * gets each text after invisible characters are removed, which could split a secret, and before the text is cut, which
 * could cut a secret in half.
 */
export function definitionOf(raw: unknown, redact: Redact = asItIs): Definition | null {
  const read = readDefinition(raw, redact);
  return typeof read === 'string' ? null : read;
}

/** Why a definition is rejected, as a clause. Null if it is not. */
export function definitionFault(raw: unknown): string | null {
  const read = readDefinition(raw, asItIs);
  return typeof read === 'string' ? read : null;
}

type Redact = (text: string) => string;
const asItIs: Redact = text => text;

/**
 * Hash of a definition, independent of the order of its keys. Covers everything that agents get, including icons and
 * annotations: a change without a new hash could change the behaviour of an agent or its client without approval.
 */
export function hashOf(definition: Definition): string {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const { _meta, ...shown } = definition;
  const digest = hash('sha256', canonicalJson(shown));
  hashes.set(definition, digest);
  return digest;
}

/** Cached, because long lists are compared often and a definition never changes. */
const hashes = new WeakMap<Definition, string>();

function readDefinition(raw: unknown, redact: Redact): Definition | string {
  if (!isObject(raw)) return 'it is not an object';
  const { _meta, ...fields } = raw as Record<string, unknown>;
  const { name } = fields;
  if (typeof name !== 'string' || name === '') return 'it has no name';
  if (name.length > MAX_NAME_LENGTH) return `its name has more than ${MAX_NAME_LENGTH} characters`;
  // A name with hidden characters is refused, because the server knows the tool only by that name.
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
  /** Number of schemas that contain this place. 0 for the definition itself. */
  level: number;
  depth: number;
  /** True if this object maps names to schemas and is not itself a schema. */
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
      // A key with hidden characters is refused, because an agent has to send the key unchanged.
      if (withoutHidden(key) !== key) throw new Excess('a key in it has control or invisible characters');
      if (typeof field === 'string' && (key === 'description' || key === 'title'))
        return [key, cutText(redact(withoutHidden(field)))];
      const isMap = !place.isMap && SCHEMAS_BY_NAME.includes(key);
      return [key, clean(field, { level, depth, isMap }, seen, redact)];
    });
  return Object.fromEntries(fields);
}
