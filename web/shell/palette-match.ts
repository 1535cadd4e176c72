export interface Entry {
  /** Of the list, unique. */
  id: string;
  group: string;
  label: string;
  /** What else it may be found by, and what is shown beside it. */
  hint?: string;
  key?: string;
  run(): void;
}

/** Those that have every word; of a group those first whose label begins with what was typed. */
export function matching(entries: readonly Entry[], typed: string, mostOfGroup: number): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ group, label, hint = '' }) => {
    const text = `${group} ${label} ${hint}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const groups = [...new Set(found.map(({ group }) => group))];
  return groups.flatMap(group =>
    found
      .filter(entry => entry.group === group)
      .sort((a, b) => begins(b, words) - begins(a, words))
      .slice(0, mostOfGroup),
  );
}

const begins = ({ label }: Entry, words: string[]): number =>
  words.length > 0 && label.toLowerCase().startsWith(words[0]!) ? 1 : 0;
