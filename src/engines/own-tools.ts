import { SquadError } from '../schema/error.ts';

/** The names callers use, and what an engine calls the same. */
export type ToolTable = Readonly<Record<string, readonly string[]>>;

/** The engine's own tools for the ones asked for. Its own names are understood too. */
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
