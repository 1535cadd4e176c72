import { SquadError } from '../schema/error.ts';

/** Common tool names, and the engine's own names for them. */
export type ToolTable = Readonly<Record<string, readonly string[]>>;

/** The engine's own names of the requested tools, which may already be its own. */
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
