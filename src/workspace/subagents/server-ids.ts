import { ServerId } from '../../schema/mcp-config.ts';

const LONGEST = 24;

/** An id for each name of a server: the name itself where it can be one. Names that would be the same are told apart by numbers. */
export function serverIds(names: readonly string[]): Map<string, string> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  // Who has a sound id keeps it, wherever in the file it stands.
  const order = names.toSorted((one, other) => Number(other === idFor(other)) - Number(one === idFor(one)));
  for (const name of order) {
    const wanted = idFor(name);
    let id = wanted;
    for (let number = 2; taken.has(id); number++) id = numbered(wanted, number);
    taken.add(id);
    ids.set(name, id);
  }
  return ids;
}

function idFor(name: string): string {
  if (ServerId.safeParse(name).success) return name;
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, LONGEST)
    .replace(/-+$/, '');
  // Squad's own tools begin with its name.
  return id === '' ? 'server' : id === 'squad' ? 'squad-server' : id;
}

const numbered = (id: string, number: number): string =>
  `${id.slice(0, LONGEST - 1 - String(number).length).replace(/-+$/, '')}-${number}`;
