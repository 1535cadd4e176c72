/** The most of one character in a row: what is put around a text, one longer, cannot be ended by it. `each` finds every such row. */
export function longestStreak(text: string, each: RegExp): number {
  let longest = 0;
  // One by one: there may be more of them than a call takes arguments.
  for (const [streak] of text.matchAll(each)) longest = Math.max(longest, streak.length);
  return longest;
}
