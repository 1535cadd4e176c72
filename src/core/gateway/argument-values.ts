/** What stands at a path inside the arguments of a call. */
export interface Found {
  values: unknown[];
  /** Nothing stands there, or in one element of a list on the way nothing does. */
  isMissing: boolean;
}

/** More than any honest call has; beyond it nobody can say what is inside. */
const MOST_STEPS = 100_000;
const DEEPEST = 64;

/** Thrown where the arguments are too many or too deep to be looked at. */
export class Unsearchable extends Error {}

/**
 * Every value at `options.target`. Of a list each element counts. A key that holds the dot itself is the same path, so that
 * neither way of writing it goes unseen. Inherited properties are not there.
 */
export function valuesAt(args: unknown, path: string): Found {
  const segments = path.split('.');
  const found: Found = { values: [], isMissing: false };
  const count = counter();
  const look = (value: unknown, at: number, depth: number): void => {
    count(depth);
    if (Array.isArray(value)) {
      if (value.length === 0) found.isMissing = true;
      for (const element of value) look(element, at, depth + 1);
    } else if (at === segments.length) found.values.push(value);
    else if (!descend(value, at, depth)) found.isMissing = true;
  };
  const descend = (value: unknown, at: number, depth: number): boolean => {
    if (typeof value !== 'object' || value === null) return false;
    let isThere = false;
    for (let end = at + 1; end <= segments.length; end++) {
      const key = segments.slice(at, end).join('.');
      if (!Object.hasOwn(value, key)) continue;
      isThere = true;
      look((value as Record<string, unknown>)[key], end, depth + 1);
    }
    return isThere;
  };
  look(args, 0, 0);
  return found;
}

/** Every text inside a value, keys included; what is no string as JSON writes it. */
export function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const count = counter();
  const look = (part: unknown, depth: number): void => {
    count(depth);
    if (Array.isArray(part)) for (const element of part) look(element, depth + 1);
    else if (typeof part === 'object' && part !== null)
      for (const [key, inside] of Object.entries(part)) {
        texts.push(key);
        look(inside, depth + 1);
      }
    else texts.push(textOf(part));
  };
  look(value, 0);
  return texts;
}

/** What is not a list or an object, as text. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : String(value));

function counter(): (depth: number) => void {
  let steps = 0;
  return depth => {
    if (++steps > MOST_STEPS || depth > DEEPEST) throw new Unsearchable();
  };
}
