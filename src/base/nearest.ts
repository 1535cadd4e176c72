const MOST = 3;

/** The names someone may have meant, best first. */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  const word = wanted.toLowerCase();
  return [...new Set(names)]
    .map(name => ({ name, distance: distanceTo(word, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(2, Math.floor(word.length / 3)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST)
    .map(({ name }) => name);
}

function distanceTo(word: string, name: string): number {
  const edits = editDistance(word, name);
  // Half a name, typed from its start, is meant for that name however long the rest is.
  const begun = word.length >= 2 && (name.startsWith(word) || word.startsWith(name));
  return begun ? Math.min(edits, 1) : edits;
}

/** Insert, delete, replace and swap of neighbours each cost one. */
function editDistance(a: string, b: string): number {
  // A far longer word cannot be near, and the table below is as big as both together.
  if (Math.abs(a.length - b.length) > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}
