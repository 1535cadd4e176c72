import { hash } from 'node:crypto';
import { ServerId } from '../../schema/mcp-config.ts';

/**
 * Whether the whole text matches the pattern. `*` stands for any characters or none; all others stand for themselves.
 * Matches the pieces between stars from left to right, so that no pattern causes backtracking.
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

/** Maximum length of a name: clients allow 63 characters and prepend `mcp__squad__`. */
const MAX_NAME_LENGTH = 51;
const HASH_DIGITS = 8;

/**
 * The name by which agents know a tool or prompt of another server: `{server}__{tool}`. If that is too long, or has
 * characters that some clients refuse, the name is shortened and gets a hash. The same pair always has the same name.
 */
export function exposedName(server: string, tool: string): string {
  const whole = `${plainId(server)}__${tool}`;
  const isPlain = whole.length <= MAX_NAME_LENGTH && /^[A-Za-z0-9_-]+$/.test(whole);
  if (isPlain && plainId(server) === server) return whole;
  const digits = hash('sha256', JSON.stringify([server, tool])).slice(0, HASH_DIGITS);
  const readable = whole.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_NAME_LENGTH - HASH_DIGITS - 1);
  return `${readable}_${digits}`;
}

/** Server id without underscores that would hide where the id ends in `{server}__{tool}`. */
const plainId = (id: string): string =>
  /^_|__|_$/.test(id) ? id.replace(/_{2,}/g, '_').replace(/^_|_$/g, '') || 'server' : id;

/** The server and tool in an exposed name. In a shortened name only the server is reliable. */
export function readExposedName(name: string): { server: string; own: string } | null {
  const at = name.indexOf('__');
  const server = name.slice(0, at);
  return at > 0 && ServerId.safeParse(server).success ? { server, own: name.slice(at + 2) } : null;
}

/** The URI or URI template by which agents know a resource of another server. */
export const exposedUri = (server: string, uri: string): string => `${schemeOf(server)}+${uri}`;

/** Finds the server of an exposed URI. Null if the URI does not belong to another server. */
export function parseExposedUri(uri: string): { server: string; uri: string } | null {
  const parts = /^([a-z][a-z0-9.-]*)\+(.+)$/s.exec(uri);
  const server = parts && idOf(parts[1]!);
  return server && ServerId.safeParse(server).success && schemeOf(server) === parts[1]
    ? { server, uri: parts[2]! }
    : null;
}

/** Prefix for ids that cannot start a URI scheme. */
const SCHEME_PREFIX = 's..';

/**
 * URI scheme for a server id. Schemes have no underscores and start with a letter, and programs convert them to lower
 * case.
 */
function schemeOf(id: string): string {
  const scheme = id.replace(/[A-Z_]/g, letter => (letter === '_' ? '.-' : `.${letter.toLowerCase()}`));
  return /^[a-z]/.test(scheme) ? scheme : `${SCHEME_PREFIX}${scheme}`;
}

function idOf(scheme: string): string {
  const rest = scheme.startsWith(SCHEME_PREFIX) ? scheme.slice(SCHEME_PREFIX.length) : scheme;
  return rest.replace(/\.([a-z-])/g, (_, letter: string) => (letter === '-' ? '_' : letter.toUpperCase()));
}

/** Every spelling of a tool in a list: the server's own name, or that name with the server's id before it. */
const namesOf = (server: string, tool: string): string[] => [
  ...new Set([tool, `${server}__${tool}`, `${server}_${tool}`, exposedName(server, tool)]),
];

/**
 * Whether a list that allows tools names this one. If the server has a tool whose own name looks like another tool's
 * name with the id before it, the entry means only that tool: an entry must not allow two tools. `known`: all tools of
 * the server, if known.
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
 * Whether an excluding entry means this tool, under any of its names. `*` stands for any characters in the tool's own
 * part of a name: `d*` does not mean every tool of the server `db`.
 */
export const isMeant = (entry: string, server: string, tool: string): boolean =>
  matchesWildcard(entry, tool) ||
  [`${server}__`, `${server}_`].some(
    prefix => entry.startsWith(prefix) && matchesWildcard(entry.slice(prefix.length), tool),
  ) ||
  entry === exposedName(server, tool);

/** Whether a list entry means any of these tools. `*` alone means all tools, even if there are none. */
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

/** Maps exposed names to tools. A name that two tools would share is dropped: a call must not reach the wrong tool. */
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

  /** Finds a tool by its exposed name. Null if there is no such name, or if two tools would share it. */
  find(name: string): { server: string; tool: string } | null {
    return this.#byName.get(name) ?? null;
  }

  /** Exposed name of a tool. Null if another tool would share the name, or if the tool is not in the table. */
  nameOf(server: string, tool: string): string | null {
    const name = exposedName(server, tool);
    const found = this.find(name);
    return found?.server === server && found.tool === tool ? name : null;
  }
}
