/** Several remarks as one text, each ended once. */
export function sentences(parts: readonly (string | null | undefined)[]): string {
  return parts
    .filter(part => typeof part === 'string' && part.trim() !== '')
    .map(part => (/[.!?:…]$/.test(part as string) ? part : `${part}.`))
    .join(' ');
}
