import type { z } from 'zod';
import { nearest } from '../../base/nearest.ts';
import { problemWords } from '../../schema/zod-issue-text.ts';
import { describedAt, keysAt } from '../files/json-problems.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

type Issue = z.core.$ZodIssue;

/** What of a part has its form. Whatever is made of the rest is never used: there is an error then. */
export interface CheckedPart<T> {
  part: Partial<T>;
  /** Its keys that something is wrong with or in, which is said already; also of those that are missing. */
  wrong: ReadonlySet<string>;
}

/**
 * Parts are checked one by one, and a mistake in one hides none of the others: what is sound is gone on with. A key that nobody
 * knows is passed over and said. Null: it is nothing of that kind at all.
 */
export function checkPart<T>(
  schema: z.ZodObject & z.ZodType<T>,
  value: unknown,
  path: Path,
  findings: Findings,
): CheckedPart<T> | null {
  const unknown = (schema.safeParse(value).error?.issues ?? []).filter(
    issue => issue.code === 'unrecognized_keys',
  );
  for (const issue of unknown) warnOfKeys(issue, keysAt(schema, stepsOf(issue)), path, findings);
  const known = without(value, unknown.flatMap(pathsOfKeys));
  const checked = schema.safeParse(known, { error: problemWords });
  if (checked.success) return { part: checked.data as Partial<T>, wrong: new Set() };
  const { issues } = checked.error;
  for (const issue of issues) tell(issue, schema, known, path, findings);
  if (issues.some(issue => issue.path.length === 0)) return null;
  const sound = schema.partial().safeParse(without(known, issues.map(pathOfWrong)));
  return {
    part: (sound.data ?? {}) as Partial<T>,
    wrong: new Set(issues.map(issue => String(issue.path[0]))),
  };
}

function tell(issue: Issue, schema: z.ZodType, value: unknown, path: Path, findings: Findings): void {
  const steps = stepsOf(issue);
  const at = [...path, ...steps];
  const given = valueAt(value, steps);
  const isMissing = given === undefined && issue.code !== 'invalid_key';
  const words = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  const near =
    issue.code === 'invalid_value' && typeof given === 'string'
      ? nearest(given, issue.values.map(String))
      : [];
  const about = describedAt(schema, steps);
  findings.error(at, `"${at.join('.')}" ${isMissing ? 'is missing' : words}`, {
    suggestion:
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : about && `${isMissing ? 'Add it' : steps.at(-1)}: ${about}`,
  });
}

export function warnOfKeys(
  { path, keys }: { path: readonly PropertyKey[]; keys: readonly string[] },
  known: readonly string[],
  base: Path,
  findings: Findings,
): void {
  const inside = [...base, ...stepsOf({ path })];
  for (const key of keys) {
    const near = nearest(key, known);
    const where = inside.length > 0 ? ` in "${inside.join('.')}"` : '';
    findings.warn([...inside, key], `the key "${key}" is not known${where} and has no effect`, {
      suggestion: near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The keys are: ${known.join(', ')}.`,
    });
  }
}

const stepsOf = ({ path }: { path: readonly PropertyKey[] }): (string | number)[] =>
  path.filter(step => typeof step !== 'symbol');

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, step)
        ? (inner as Record<string, unknown>)[step]
        : undefined,
    value,
  );

const pathsOfKeys = (issue: Issue & { code: 'unrecognized_keys' }): Path[] =>
  issue.keys.map(key => [...stepsOf(issue), key]);

/** An element that is wrong takes its list with it: what comes after it would move up. */
function pathOfWrong(issue: Issue): Path {
  const steps = stepsOf(issue);
  const inList = steps.findIndex(step => typeof step === 'number');
  return inList < 0 ? steps : steps.slice(0, inList);
}

/** One copy for all of them: there may be thousands. */
function without(value: unknown, paths: readonly Path[]): unknown {
  if (paths.length === 0) return value;
  const copy = structuredClone(value);
  for (const path of paths) {
    const holder = valueAt(copy, path.slice(0, -1)) as Record<string, unknown> | undefined;
    if (holder) delete holder[path.at(-1)!];
  }
  return copy;
}
