/** Checks a condition repeatedly until it holds. Throws after a deadline. */
export async function until(condition: () => boolean, what: string, limitMs = 10_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`Gave up waiting: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
