import { SquadError } from '../schema/error.ts';

/** Maps common tool names to the engine's own names. */
export type ToolTable = Readonly<Record<string, readonly string[]>>;

/** Translates the requested tools to the engine's own names. Names that are already the engine's own are kept. */
export function ownTools(asked: readonly string[], engine: string, table: ToolTable): string[] {
  const own = new Set(Object.values(table).flat());
  return [
    ...new Set(
      asked.flatMap(name => {
        const tools = Object.hasOwn(table, name) ? table[name] : own.has(name) ? [name] : undefined;
        if (tools) return tools;
        throw new SquadError('INVALID_INPUT', `${engine} has no tool that can be granted as "${name}"`, {
          suggestions: [`Tools that can be granted: ${Object.keys(table).join(', ')}.`],
        });
      }),
    ),
  ];
}
