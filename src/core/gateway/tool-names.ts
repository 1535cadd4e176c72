import { createHash } from 'node:crypto';
import { ServerId } from '../../schema/mcp-config.ts';

/**
 * Whether the whole text is as the pattern says; `*` stands for any run of characters, also none, and everything else for
 * itself. Takes the pieces between stars from left to right: no pattern makes it go back.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0]!;
  if (pieces.length === 1) return first === text;
  const last = pieces.at(-1)!;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const at = text.indexOf(piece, from);
    if (at < 0 || at + piece.length > end) return false;
    from = at + piece.length;
  }
  return true;
}

/** Clients take 63 characters and put `mcp__squad__` before them. */
const MAX_NAME_LENGTH = 51;
const HASH_DIGITS = 8;

/**
 * The name agents know a tool or prompt of another server by: `{server}__{tool}`, or, where that is too long or has characters
 * that not every client takes, as much of it as fits and a hash of the whole. The same pair has the same name for ever.
 */
export function exposedName(server: string, tool: string): string {
  const whole = `${plainId(server)}__${tool}`;
  const isPlain = whole.length <= MAX_NAME_LENGTH && /^[A-Za-z0-9_-]+$/.test(whole);
  if (isPlain && plainId(server) === server) return whole;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_DIGITS);
  const readable = whole.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_NAME_LENGTH - HASH_DIGITS - 1);
  return `${readable}_${hash}`;
}

/** The id if the first `__` of a name ends it; else without the underscores that would hide where it ends. */
const plainId = (id: string): string =>
  /^_|__|_$/.test(id) ? id.replace(/_{2,}/g, '_').replace(/^_|_$/g, '') || 'server' : id;

/** The server and tool that an exposed name shows. Of a shortened name only the server is to be relied on. */
export function readExposedName(name: string): { server: string; own: string } | null {
  const at = name.indexOf('__');
  const server = name.slice(0, at);
  return at > 0 && ServerId.safeParse(server).success ? { server, own: name.slice(at + 2) } : null;
}

/** The URI, or template of URIs, agents know a resource of another server by. */
export const exposedUri = (server: string, uri: string): string => `${schemeOf(server)}+${uri}`;

/** Null: it is not another server's. */
export function parseExposedUri(uri: string): { server: string; uri: string } | null {
  const parts = /^([a-z][a-z0-9.-]*)\+(.+)$/s.exec(uri);
  const server = parts && idOf(parts[1]!);
  return server && ServerId.safeParse(server).success && schemeOf(server) === parts[1]
    ? { server, uri: parts[2]! }
    : null;
}

/** Before ids that no scheme of a URI can begin with. */
const BEFORE_OTHERS = 's..';

/** Schemes have no underscores, begin with a letter, and programs that read URIs make them lower case. */
function schemeOf(id: string): string {
  const scheme = id.replace(/[A-Z_]/g, letter => (letter === '_' ? '.-' : `.${letter.toLowerCase()}`));
  return /^[a-z]/.test(scheme) ? scheme : `${BEFORE_OTHERS}${scheme}`;
}

function idOf(scheme: string): string {
  const rest = scheme.startsWith(BEFORE_OTHERS) ? scheme.slice(BEFORE_OTHERS.length) : scheme;
  return rest.replace(/\.([a-z-])/g, (_, letter: string) => (letter === '-' ? '_' : letter.toUpperCase()));
}

/** Every way a list may name a tool: the server's own name first, then with the server's id before it. */
const namesOf = (server: string, tool: string): string[] => [
  ...new Set([tool, `${server}__${tool}`, `${server}_${tool}`, exposedName(server, tool)]),
];

/**
 * Whether a list that gives tools names this one. A name with the server's id before it is another tool's own name where the
 * server has such a tool: what gives must not give two. `known`: all tools of the server, where they are known.
 */
export function names(
  list: ReadonlySet<string>,
  server: string,
  tool: string,
  known: ReadonlySet<string> | null,
): boolean {
  if (list.has(tool)) return true;
  if (list.size === 0) return false;
  return namesOf(server, tool).some(name => list.has(name) && known?.has(name) !== true);
}

/**
 * Whether an entry that takes tools away means this one, under any of its names. `*` stands for any run of characters, in the
 * tool's own part of a name: `d*` does not mean every tool of the server `db`.
 */
export const isMeant = (entry: string, server: string, tool: string): boolean =>
  matchesWildcard(entry, tool) ||
  [`${server}__`, `${server}_`].some(
    prefix => entry.startsWith(prefix) && matchesWildcard(entry.slice(prefix.length), tool),
  ) ||
  entry === exposedName(server, tool);

/** Whether an entry of a list means any of these tools. `*` alone means whatever there is. */
export function meansAny(
  entry: string,
  server: string,
  tools: ReadonlySet<string>,
  takesAway: boolean,
): boolean {
  if (entry === '*' || tools.has(entry)) return true;
  const list = new Set([entry]);
  for (const tool of tools)
    if (takesAway ? isMeant(entry, server, tool) : names(list, server, tool, null)) return true;
  return false;
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
