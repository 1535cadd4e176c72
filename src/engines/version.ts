/** The first version number in the output of a program. */
export const versionIn = (output: string): string | null => /\d+\.\d+(?:\.\d+)*/.exec(output)?.[0] ?? null;

/** Compares versions number by number: 1.9 is older than 1.10. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map(text => text.split('.').map(Number)) as [number[], number[]];
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
