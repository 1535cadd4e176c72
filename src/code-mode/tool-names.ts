/** Names that mean something to every object, so that a tool of that name would be taken for something else. */
const TAKEN = new Set([
  ...['then', 'toJSON', 'toString', 'valueOf', 'constructor', 'prototype', 'hasOwnProperty', '__proto__'],
]);

/** What a program calls each tool by: its own name where that is an identifier, otherwise one made of it. Told apart by a number. */
export function nameTools<T extends { name: string }>(tools: readonly T[]): Map<string, T> {
  const named = new Map<string, T>();
  const isPlain = ({ name }: T) => identifierOf(name) === name;
  // Those that can keep their names get them first.
  for (const tool of [...tools.filter(isPlain), ...tools.filter(tool => !isPlain(tool))])
    named.set(
      unique(identifierOf(tool.name), name => named.has(name)),
      tool,
    );
  return named;
}

export function identifierOf(name: string): string {
  const legal = name.replaceAll(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=\d|$)/, '_');
  return TAKEN.has(legal) ? `${legal}_` : legal;
}

export function unique(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}_${number}`)) number++;
  return `${name}_${number}`;
}
