/** `#L120`; null: no line is meant. */
export function lineInHash(hash: string): number | null {
  const line = /^#L([1-9]\d{0,11})$/.exec(hash)?.[1];
  return line === undefined ? null : Number(line);
}
