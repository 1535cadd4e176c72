import type { JsonSchema } from './ports.ts';

/** A JSON Schema of an object, or of one of several. */
export interface ObjectSchema extends JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: ObjectSchema[];
  oneOf?: ObjectSchema[];
}

const variantsOf = ({ anyOf = [], oneOf = [] }: ObjectSchema): ObjectSchema[] => [...anyOf, ...oneOf];

/** The fields it may have; of one that differs among several, the first way. */
export function fieldsOf(schema: ObjectSchema): Map<string, JsonSchema> {
  const own = Object.entries(schema.properties ?? {});
  const others = variantsOf(schema).flatMap(variant => [...fieldsOf(variant)]);
  return new Map([...others.reverse(), ...own]);
}

/** The same object without these fields. */
export function withoutFields(schema: ObjectSchema, names: readonly string[]): ObjectSchema {
  const { properties, required, anyOf, oneOf, ...rest } = schema;
  const isLeft = (name: string) => !names.includes(name);
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isLeft(name))),
    }),
    ...(required && { required: required.filter(isLeft) }),
    ...(anyOf && { anyOf: anyOf.map(variant => withoutFields(variant, names)) }),
    ...(oneOf && { oneOf: oneOf.map(variant => withoutFields(variant, names)) }),
  };
}
