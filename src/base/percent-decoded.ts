/** What `%41` and the like stand for; null where they stand for nothing. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
