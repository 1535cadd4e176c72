/** Characters that are looked at together, and how far apart. A needle of STEP + GRAM - 1 or more has such a place in it. */
const GRAM = 4;
const STEP = 3;
export const SHORTEST_NEEDLE = STEP + GRAM - 1;
const BUCKETS = 1 << 14;

/**
 * Looks for many texts at once, going over the long one only once: most results hold no secret, and that must be known
 * quickly. No needle may be shorter than SHORTEST_NEEDLE.
 */
export function searchFor(needles: readonly string[]): (text: string) => boolean {
  const isTaken = new Uint8Array(BUCKETS);
  const candidates = new Map<number, [needle: string, offset: number][]>();
  for (const needle of needles)
    for (let offset = 0; offset < STEP; offset++) {
      const bucket = bucketOf(needle, offset);
      isTaken[bucket] = 1;
      candidates.set(bucket, [...(candidates.get(bucket) ?? []), [needle, offset]]);
    }
  return text => {
    for (let at = 0; at + GRAM <= text.length; at += STEP) {
      const bucket = bucketOf(text, at);
      if (isTaken[bucket] === 0) continue;
      for (const [needle, offset] of candidates.get(bucket)!)
        if (at >= offset && text.startsWith(needle, at - offset)) return true;
    }
    return false;
  };
}

function bucketOf(text: string, at: number): number {
  const mixed =
    (Math.imul(text.charCodeAt(at), 0x9e37) ^
      Math.imul(text.charCodeAt(at + 1), 0x85eb) ^
      Math.imul(text.charCodeAt(at + 2), 0xc2b2) ^
      Math.imul(text.charCodeAt(at + 3), 0x27d4)) >>>
    0;
  return (mixed ^ (mixed >>> 14)) & (BUCKETS - 1);
}
