import { z } from 'zod';
import type { Operation } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/table.ts';
import type { StateMode } from '../schema/run.ts';
import type { JsonObjectSchema, ToolDef } from '../wire/face.ts';

const lists = new Map<StateMode, ToolDef[]>();

/** The tools as a client lists them, always in the same order. Made once: a schema does not change while a hub lives. */
export function toolList(mode: StateMode): ToolDef[] {
  const known = lists.get(mode);
  if (known) return known;
  const list = OPERATIONS.flatMap(operation => (operation.tool ? [definition(operation, mode)] : []));
  lists.set(mode, list);
  return list;
}

function definition(operation: Operation, mode: StateMode): ToolDef {
  const tool = operation.tool!;
  const { input, output } = (mode === 'stateless' && tool.stateless) || operation;
  return {
    name: operation.name,
    title: tool.title,
    description: tool.description,
    inputSchema: jsonSchema(input, 'input'),
    outputSchema: jsonSchema(output, 'output'),
    annotations: { readOnlyHint: tool.readOnly },
  };
}

/** Every client pays for each byte of this in its context: nothing is said that goes without saying. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObjectSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      // Fields may be added to a result without breaking a client that validates it.
      if (io === 'output') delete node.additionalProperties;
      if (node.propertyNames) delete node.propertyNames;
      if (node.additionalProperties && Object.keys(node.additionalProperties).length === 0)
        delete node.additionalProperties;
      if (io === 'output' && Object.keys(node.properties ?? { some: true }).length === 0)
        delete node.properties;
    },
  });
  return { ...rest, type: 'object' };
}
