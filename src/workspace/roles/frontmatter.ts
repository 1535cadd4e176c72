import { type Document, isMap, isScalar, LineCounter, type YAMLMap } from 'yaml';
import type { z } from 'zod';
import { RoleMeta } from '../../schema/role.ts';
import { parseBoundedYaml } from '../files/bounded-yaml.ts';

export type Frontmatter<Meta = RoleMeta> =
  | { meta: Meta; body: string; warnings: string[] }
  /** Why the file cannot be used, with the line if it is known. */
  | { fault: string };

/** Keys of a frontmatter. `allowed` describes the valid value of each key. */
export interface HeadShape<Meta> {
  schema: z.ZodObject & z.ZodType<Meta>;
  allowed: Record<string, string>;
}

/** Reads the frontmatter and the trimmed body of a role file. */
export const readFrontmatter = (source: string): Frontmatter => readHeaded(source, ROLE);

/** Reads the frontmatter and body of any file. */
export function readHeaded<Meta>(source: string, shape: HeadShape<Meta>): Frontmatter<Meta> {
  const parts = splitHead(source);
  if (parts === null)
    return { fault: 'line 1: the frontmatter that begins with "---" is never closed by another "---"' };
  const head = readHead(lineFeeds(parts.head), shape);
  if ('fault' in head) return head;
  return { ...head, body: lineFeeds(parts.body).trim() };
}

/** Length of the frontmatter, which is the part that takes time to parse. */
export const headLength = (source: string): number => splitHead(source)?.head.length ?? 0;

const BOUNDS = { chars: 16 * 1024, lines: 500, depth: 50, references: 50 };
const FIRST_LINE = /^---[^\S\r\n]*(\r\n|\n|\r)/;
const LAST_LINE = /(?:\r\n|\n|\r)---[^\S\r\n]*(?:\r\n|\n|\r|$)/g;

/** Null if the frontmatter is never closed. */
function splitHead(source: string): { head: string; body: string } | null {
  const start = FIRST_LINE.exec(source)?.[0].length;
  if (start === undefined) return source.trimEnd() === '---' ? null : { head: '', body: source };
  // The search for the closing line begins at the line feed before the frontmatter, because the frontmatter may be empty.
  LAST_LINE.lastIndex = start - 1;
  const end = LAST_LINE.exec(source);
  if (end === null) return null;
  return { head: source.slice(start, Math.max(start, end.index)), body: source.slice(LAST_LINE.lastIndex) };
}

const lineFeeds = (text: string): string => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);

function readHead<Meta>(
  yaml: string,
  { schema, allowed }: HeadShape<Meta>,
): { meta: Meta; warnings: string[] } | { fault: string } {
  const counter = new LineCounter();
  const source = parseBoundedYaml(yaml, BOUNDS, { lineCounter: counter });
  // The frontmatter begins on the second line of the file.
  const lineAt = (offset: number | undefined) =>
    offset === undefined ? 'frontmatter' : `line ${counter.linePos(offset).line + 1}`;

  const [error] = source.faults;
  if (error?.code === 'BOUND')
    return { fault: `the frontmatter ${error.message}: long text belongs below it` };
  if (error) return { fault: `${lineAt(error.offset)}: ${firstLine(error.message)}` };
  const { document } = source as { document: Document.Parsed };
  if (document.contents !== null && !isMap(document.contents))
    return {
      fault: `${lineAt(document.contents.range?.[0])}: the frontmatter is not a list of "key: value" lines`,
    };

  const values = toObject(document);
  if ('fault' in values) return values;
  const parsed = schema.safeParse(values.object);
  const at = (key: PropertyKey | undefined) => lineAt(keyOffset(document.contents as YAMLMap | null, key));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const key = issue.path[0];
    const rule =
      typeof key === 'string' && Object.hasOwn(schema.shape, key) ? (allowed[key] ?? TEXT) : undefined;
    return { fault: `${at(key)}: "${String(key)}" ${rule ?? `is wrong: ${issue.message}`}` };
  }
  const unknown = Object.keys(values.object).filter(key => !Object.hasOwn(schema.shape, key));
  return {
    meta: parsed.data,
    warnings: [
      ...unknown.map(key => `${at(key)}: the key "${key}" is not known to Squad and has no effect`),
      ...document.warnings.map(warning => `${lineAt(warning.pos[0])}: ${firstLine(warning.message)}`),
    ],
  };
}

function toObject(document: Document.Parsed): { object: Record<string, unknown> } | { fault: string } {
  try {
    const object = (document.toJS() ?? {}) as Record<string, unknown>;
    // A key without a value, such as `description:`, counts as missing.
    return { object: Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) };
  } catch (thrown) {
    // The YAML parser throws if aliases expand to far more than the text.
    return { fault: `frontmatter: ${firstLine(thrown instanceof Error ? thrown.message : String(thrown))}` };
  }
}

function keyOffset(map: YAMLMap | null, key: PropertyKey | undefined): number | undefined {
  const pair = map?.items.find(item => isScalar(item.key) && item.key.value === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

const TEXT = 'must be text (put it in quotes)';
const NAMES = 'must be a list of names';
const DURATION = 'must be a time: a number of seconds, or 90s, 15m, 2h';
/** Describes the valid values of keys whose values are not plain text. */
export const ROLE_KEYS: Record<string, string> = {
  engine: 'must be the name of an engine, or a list of at most five different names',
  type: 'must be planning, coding or review',
  permission: 'must be read, edit or full',
  isolation: 'must be none or worktree',
  leftovers: 'must be kill or keep',
  approvals: 'must be ask or deny',
  messages: 'must be a list of sibling, child, lead and client',
  wake: 'must be on_child_end',
  timeout: DURATION,
  stall: DURATION,
  park: DURATION,
  budget: 'must be an amount above 0',
  tools: NAMES,
  env: NAMES,
  mcp: NAMES,
  context: `${NAMES}, true or false`,
  spawn: `${NAMES}, true or false`,
  sandbox: 'must be off, workspace or strict',
  network: 'must be full, models or none',
  hosts: 'must be a list of host names, such as example.com, *.example.com or example.com:8443',
};
const ROLE: HeadShape<RoleMeta> = { schema: RoleMeta, allowed: ROLE_KEYS };

const firstLine = (message: string) => message.split('\n')[0]!;
