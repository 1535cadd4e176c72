import { percentDecoded } from '../base/percent-decoded.ts';

/** What a `$ref` within the same schema leads to; undefined for what is not there, or elsewhere. */
export function lookUp(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = (percentDecoded(step) ?? step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
