const MOST_NAMED = 5;

/** What came with the repository and was passed over: nothing must quietly be otherwise than its files say. */
export function withoutTrust(passedOver: readonly { key: string; file: string }[]): string[] {
  const all = [...new Set(passedOver.map(({ key, file }) => `${key} in ${file}`))];
  return all.length === 0
    ? []
    : [`Not used until you run \`squad trust\`: ${all.slice(0, MOST_NAMED).join(', ')}.`];
}
