import type { CodeTool } from './code-mode.ts';
import { docComment, type SchemaType, typeOfSchema } from './schema-type.ts';

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
