import { createHash } from 'node:crypto';

/** Clients take 63 characters and put `mcp__squad__` before them. */
const LONGEST = 51;
const HASH_DIGITS = 8;

/**
 * The name agents know a tool or prompt of another server by: `{server}__{tool}`, or, where that is too long or has characters
 * that not every client takes, as much of it as fits and a hash of the whole. The same pair has the same name for ever.
 */
export function exposedName(server: string, tool: string): string {
  const whole = `${server}__${tool}`;
  if (whole.length <= LONGEST && /^[A-Za-z0-9_-]+$/.test(whole)) return whole;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_DIGITS);
  const readable = whole.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, LONGEST - HASH_DIGITS - 1);
  return `${readable}_${hash}`;
}

/** The URI, or template of URIs, agents know a resource of another server by. */
export const exposedUri = (server: string, uri: string): string => `${server}+${uri}`;

/** Null: it is not another server's. */
export function parseExposedUri(uri: string): { server: string; uri: string } | null {
  const parts = /^([a-z][a-z0-9-]{0,23})\+(.+)$/s.exec(uri);
  return parts && parts[1] !== 'squad' ? { server: parts[1]!, uri: parts[2]! } : null;
}

type Pair = readonly [server: string, tool: string];

/** Which tool an exposed name means. A name that two would have is nobody's: a call must not reach what was not meant. */
export class NameTable {
  readonly clashes: readonly { name: string; pairs: readonly Pair[] }[];
  readonly #byName = new Map<string, { server: string; tool: string }>();

  constructor(pairs: Iterable<Pair>) {
    const wanted = new Map<string, Pair[]>();
    for (const pair of pairs) {
      const name = exposedName(...pair);
      const others = wanted.get(name);
      if (!others) wanted.set(name, [pair]);
      else if (!others.some(([server, tool]) => server === pair[0] && tool === pair[1])) others.push(pair);
    }
    this.clashes = [...wanted].flatMap(([name, same]) => (same.length > 1 ? [{ name, pairs: same }] : []));
    for (const [name, [pair, ...more]] of wanted)
      if (pair && more.length === 0) this.#byName.set(name, { server: pair[0], tool: pair[1] });
  }

  /** Null: no such name, or a clash. */
  find(name: string): { server: string; tool: string } | null {
    return this.#byName.get(name) ?? null;
  }

  /** Null: it clashes, or is not in the table. */
  nameOf(server: string, tool: string): string | null {
    const name = exposedName(server, tool);
    const found = this.find(name);
    return found?.server === server && found.tool === tool ? name : null;
  }
}
