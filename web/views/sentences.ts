/** Joins several remarks to one text, each ending with one full stop. */
export function sentences(parts: readonly (string | null | undefined)[]): string {
  return parts
    .filter(part => typeof part === 'string' && part.trim() !== '')
    .map(part => (/[.!?:…]$/.test(part as string) ? part : `${part}.`))
    .join(' ');
}
