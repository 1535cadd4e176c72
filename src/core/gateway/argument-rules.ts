import { posix } from 'node:path';
import { isObject } from '../../base/json.ts';
import type { ArgumentRule } from '../../schema/mcp-config.ts';
import { isMeant, matchesWildcard } from './tool-names.ts';

/** The values at a path inside the arguments of a call. */
interface Found {
  values: unknown[];
  /** True if the path does not exist in the arguments, or in one element of a list on the path. */
  isMissing: boolean;
}

/** Limits above anything that a normal call contains. Arguments beyond them fail every check. */
const MAX_STEPS = 100_000;
const MAX_DEPTH = 64;

/** Thrown when the arguments are too large or too deeply nested to be searched. */
class Unsearchable extends Error {}

/**
 * Every value at a path such as `options.target`. Each element of a list counts. A key that itself contains the dot is
 * the same path, so that neither spelling escapes the check. Inherited properties do not count.
 */
function valuesAt(args: unknown, path: string): Found {
  const segments = path.split('.');
  const found: Found = { values: [], isMissing: false };
  const count = counter();
  const visit = (value: unknown, at: number, depth: number): void => {
    count(depth);
    if (Array.isArray(value)) {
      if (value.length === 0) found.isMissing = true;
      for (const element of value) visit(element, at, depth + 1);
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
      visit((value as Record<string, unknown>)[key], end, depth + 1);
    }
    return isThere;
  };
  visit(args, 0, 0);
  return found;
}

/** Every text inside a value, including keys; other values in their JSON form. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const count = counter();
  const visit = (part: unknown, depth: number): void => {
    count(depth);
    if (Array.isArray(part)) for (const element of part) visit(element, depth + 1);
    else if (typeof part === 'object' && part !== null)
      for (const [key, inside] of Object.entries(part)) {
        texts.push(key);
        visit(inside, depth + 1);
      }
    else texts.push(textOf(part));
  };
  visit(value, 0);
  return texts;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : String(value));

function counter(): (depth: number) => void {
  let steps = 0;
  return depth => {
    if (++steps > MAX_STEPS || depth > MAX_DEPTH) throw new Unsearchable();
  };
}

/** Folders that relative paths refer to: one for paths in a rule, one for paths in a call. */
export interface Origins {
  workspaceRoot: string;
  /** The server's working directory. Null if unknown. */
  serverFolder: string | null;
}

/**
 * Whether a path, as the server resolves it with every `..`, is the folder or inside it. Compares only text: symbolic
 * links are the server's responsibility. Refuses every form that a program might read as a different path.
 */
function isBelow(path: unknown, folder: string, { workspaceRoot, serverFolder }: Origins): boolean {
  if (typeof path !== 'string' || !isPlainPath(path) || !posix.isAbsolute(workspaceRoot)) return false;
  if (folder.includes('${')) return false;
  const from = posix.isAbsolute(path) ? '/' : serverFolder;
  if (from === null || !posix.isAbsolute(from)) return false;
  const top = posix.resolve(workspaceRoot, folder);
  const target = posix.resolve(from, path);
  return target === top || target.startsWith(top === '/' ? top : `${top}/`);
}

function isPlainPath(path: string): boolean {
  return (
    path !== '' &&
    // Some programs trim a path, after which it may be absolute.
    path.trim() === path &&
    // Backslashes separate folders on other systems; control characters such as NUL can end a path early.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    !/[\\\u0000-\u001f\u007f]/.test(path) &&
    // Excludes home folders (~), URLs such as file:/etc and drives such as C:/.
    !/^(~|[a-z][a-z0-9+.-]*:)/i.test(path) &&
    // Excludes an encoded dot, slash or backslash.
    !/%(2e|2f|5c)/i.test(path)
  );
}

type Check = 'allow' | 'deny' | 'under' | 'maxLength';

interface BrokenRule {
  rule: Check;
  argument: string;
}

/**
 * The first check that the arguments of a call fail, or null. `withRoots` has replaced `${WORKSPACE_ROOT}` and
 * `${SQUAD_ROOT}` in the folders; a folder that still contains a variable matches nothing.
 */
export function brokenRule(
  rules: readonly ArgumentRule[],
  tool: string,
  args: unknown,
  origins: Origins,
): BrokenRule | null {
  for (const rule of rules) {
    if (!rule.tool.some(entry => isMeant(entry, rule.server, tool))) continue;
    const check = brokenCheck(rule, args ?? {}, origins);
    if (check) return { rule: check, argument: rule.argument };
  }
  return null;
}

function brokenCheck(rule: ArgumentRule, args: unknown, origins: Origins): Check | null {
  const checks = (['allow', 'deny', 'under', 'maxLength'] as const).filter(
    check => rule[check] !== undefined,
  );
  // Arguments must be an object; anything else fails the first check.
  if (!isObject(args)) return checks[0] ?? null;
  try {
    const { values, isMissing } = valuesAt(args, rule.argument);
    return checks.find(check => !passes(check, rule, values, isMissing, origins)) ?? null;
  } catch (thrown) {
    if (thrown instanceof Unsearchable) return checks[0] ?? null;
    throw thrown;
  }
}

function passes(
  check: Check,
  { allow = [], deny = [], under = [], maxLength = 0 }: ArgumentRule,
  values: readonly unknown[],
  isMissing: boolean,
  origins: Origins,
): boolean {
  switch (check) {
    case 'allow':
      return !isMissing && values.every(value => isPlain(value) && matchesOne(allow, textOf(value)));
    case 'under':
      return !isMissing && values.every(value => under.some(folder => isBelow(value, folder, origins)));
    case 'deny':
      return values.every(value => !textsIn(value).some(text => matchesOne(deny, text)));
    case 'maxLength':
      return values.every(value => lengthOf(value) <= maxLength);
  }
}

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null;

const matchesOne = (patterns: readonly string[], text: string): boolean =>
  patterns.some(pattern => matchesWildcard(pattern, text));

/** Length of a text; for an object, the total length of all texts inside. */
const lengthOf = (value: unknown): number => textsIn(value).reduce((length, text) => length + text.length, 0);
