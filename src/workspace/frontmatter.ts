import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from 'yaml';
import { RoleMeta } from '../schema/role.ts';

export type Frontmatter =
  | { meta: RoleMeta; body: string; warnings: string[] }
  /** Why the file cannot be used, with its line where there is one. */
  | { fault: string };

/** Splits a role file into what its YAML head says and its body, trimmed. */
export function readFrontmatter(source: string): Frontmatter {
  const lines = source.split(/\r\n|\n|\r/);
  if (lines[0]?.trimEnd() !== '---') return { meta: {}, body: lines.join('\n').trim(), warnings: [] };
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  if (end < 0)
    return { fault: 'line 1: the frontmatter that begins with "---" is never closed by another "---"' };
  const head = readHead(lines.slice(1, end).join('\n'));
  if ('fault' in head) return head;
  return {
    ...head,
    body: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  };
}

function readHead(yaml: string): { meta: RoleMeta; warnings: string[] } | { fault: string } {
  const counter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: counter, prettyErrors: false });
  // The head begins on the file's second line.
  const lineAt = (offset: number | undefined) =>
    offset === undefined ? 'frontmatter' : `line ${counter.linePos(offset).line + 1}`;

  const [error] = document.errors;
  if (error) return { fault: `${lineAt(error.pos[0])}: ${firstLine(error.message)}` };
  if (document.contents === null) return { meta: {}, warnings: [] };
  if (!isMap(document.contents))
    return {
      fault: `${lineAt(document.contents.range?.[0])}: the frontmatter is not a list of "key: value" lines`,
    };

  const values = toObject(document);
  if ('fault' in values) return values;
  const parsed = RoleMeta.safeParse(values.object);
  const at = (key: PropertyKey | undefined) => lineAt(keyOffset(document.contents as YAMLMap, key));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const key = issue.path[0];
    return { fault: `${at(key)}: "${String(key)}" ${allowed(key) ?? `is wrong: ${issue.message}`}` };
  }
  const unknown = Object.keys(values.object).filter(key => !Object.hasOwn(RoleMeta.shape, key));
  return {
    meta: parsed.data,
    warnings: [
      ...unknown.map(key => `${at(key)}: the key "${key}" is not known to Squad and has no effect`),
      ...document.warnings.map(warning => `${lineAt(warning.pos[0])}: ${firstLine(warning.message)}`),
    ],
  };
}

function toObject(
  document: ReturnType<typeof parseDocument>,
): { object: Record<string, unknown> } | { fault: string } {
  try {
    const object = document.toJS() as Record<string, unknown>;
    // `description:` with nothing after it says nothing.
    return { object: Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) };
  } catch (thrown) {
    // Too many aliases: text that unfolds to far more than it is.
    return { fault: `frontmatter: ${firstLine(thrown instanceof Error ? thrown.message : String(thrown))}` };
  }
}

function keyOffset(map: YAMLMap, key: PropertyKey | undefined): number | undefined {
  const pair = map.items.find(item => isScalar(item.key) && item.key.value === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

const NAMES = 'must be a list of names';
const DURATION = 'must be a time: a number of seconds, or 90s, 15m, 2h';
const ALLOWED: Record<string, string> = {
  type: 'must be planning, coding or review',
  permission: 'must be read, edit or full',
  isolation: 'must be none or worktree',
  leftovers: 'must be kill or keep',
  timeout: DURATION,
  stall: DURATION,
  budget: 'must be an amount above 0',
  tools: NAMES,
  env: NAMES,
  mcp: NAMES,
  context: `${NAMES}, true or false`,
  spawn: `${NAMES}, true or false`,
};

function allowed(key: PropertyKey | undefined): string | undefined {
  if (typeof key !== 'string' || !Object.hasOwn(RoleMeta.shape, key)) return undefined;
  return ALLOWED[key] ?? 'must be text (put it in quotes)';
}

const firstLine = (message: string) => message.split('\n')[0]!;
