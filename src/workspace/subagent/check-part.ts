import type { z } from 'zod';
import { nearest } from '../../core/nearest.ts';
import { keysAt } from '../json-problems.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

type Issue = z.core.$ZodIssue;

/**
 * A part of the file in its form, or null when it has none. Parts are checked one by one, so that a mistake in one does not
 * hide those in the others. A key that nobody knows is passed over and said.
 */
export function checkPart<T>(schema: z.ZodType<T>, value: unknown, path: Path, findings: Findings): T | null {
  const first = schema.safeParse(value);
  if (first.success) return first.data;
  const unknown = first.error.issues.filter(issue => issue.code === 'unrecognized_keys');
  for (const issue of unknown) warnOfKeys(issue, keysAt(schema, stepsOf(issue)), path, findings);
  const second = schema.safeParse(unknown.reduce(withoutKeys, value));
  if (second.success) return second.data;
  for (const issue of second.error.issues) {
    const at = [...path, ...stepsOf(issue)];
    const isMissing = issue.code === 'invalid_type' && valueAt(value, stepsOf(issue)) === undefined;
    const name = at.join('.');
    if (isMissing) findings.error(at, `"${name}" is missing`);
    else findings.error(at, `"${name}" is wrong: ${issue.message}`);
  }
  return null;
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
  path.reduce<unknown>((inner, step) => (inner as Record<string, unknown> | undefined)?.[step], value);

function withoutKeys(value: unknown, issue: Issue & { code: 'unrecognized_keys' }): unknown {
  const copy = structuredClone(value);
  const holder = valueAt(copy, stepsOf(issue)) as Record<string, unknown>;
  for (const key of issue.keys) delete holder[key];
  return copy;
}
