import { z } from 'zod';
import type { Operation } from '../operations/operation.ts';
import type { StateMode } from '../schema/run.ts';
import type { JsonObjectSchema, ToolDef } from '../wire/face/face.ts';

const made = new Map<string, ToolDef>();

/** One of Squad's own tools as a client lists it. Made once: its schema does not change while a hub lives. */
export function ownTool(operation: Operation, mode: StateMode, name: string): ToolDef {
  const key = `${mode} ${name}`;
  const definition = made.get(key) ?? { ...toolDefinition(operation, mode), name };
  made.set(key, definition);
  return definition;
}

/** As clients are shown it; or, for the reference, with every field there is. */
export function toolDefinition(operation: Operation, mode: StateMode, isWhole = false): ToolDef {
  const tool = operation.tool!;
  const shown = {
    ...operation,
    ...(!isWhole && tool.listed),
    ...(mode === 'stateless' && tool.stateless),
  };
  return {
    name: operation.name,
    title: tool.title,
    description: tool.description,
    inputSchema: jsonSchema(shown.input, 'input', isWhole),
    // Who declares one owes structured content.
    ...((isWhole || !tool.textOnly) && {
      outputSchema: jsonSchema(shown.output, 'output', isWhole),
    }),
    annotations: { readOnlyHint: tool.readOnly },
    ...(tool.task && !isWhole && { execution: { taskSupport: 'optional' } }),
  };
}

/** Every client pays for each byte of this in its context: nothing is said that goes without saying. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', isWhole = false): JsonObjectSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.propertyNames) delete node.propertyNames;
      if (node.additionalProperties && Object.keys(node.additionalProperties).length === 0)
        delete node.additionalProperties;
      // A call with an empty text is refused with words that say more.
      if (io === 'input' && !isWhole && node.minLength === 1) delete node.minLength;
      if (io === 'input') return;
      // Fields may be added to a result without breaking a client that validates it.
      delete node.additionalProperties;
      if (Object.keys(node.properties ?? { some: true }).length === 0) delete node.properties;
      if (!isWhole) {
        // A result explains itself when it comes.
        delete node.description;
        // An error has its own field and clients validate that result too, so no other field is certain.
        delete node.required;
      }
      mergeNull(node);
    },
  });
  return { ...rest, type: 'object' };
}

/** "This or null" in its short form, where there is one. */
function mergeNull(node: z.core.JSONSchema.BaseSchema): void {
  const [value, none, ...more] = (node.anyOf ?? []) as z.core.JSONSchema.BaseSchema[];
  if (more.length > 0 || none?.type !== 'null' || typeof value?.type !== 'string' || value.enum) return;
  delete node.anyOf;
  Object.assign(node, value, { type: [value.type, 'null'] });
}
