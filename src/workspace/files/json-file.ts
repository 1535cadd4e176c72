import { getNodeValue, type Node } from 'jsonc-parser';
import type { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { problemsOf } from './json-problems.ts';
import { type JsonProblem, parseJsonTree, placeOf } from './json-tree.ts';

export type CheckedJson<T> = { value: T; tree: Node } | { problems: [JsonProblem, ...JsonProblem[]] };

/** Checks the content of a settings file and finds everything that is wrong with it. */
export function checkJson<T>(text: string, schema: z.ZodType<T>): CheckedJson<T> {
  const parsed = parseJsonTree(text);
  if ('problems' in parsed) return parsed;
  const { tree } = parsed;
  const checked = schema.safeParse(getNodeValue(tree));
  if (checked.success) return { value: checked.data, tree };
  return { problems: problemsOf(tree, schema, checked.error.issues) as [JsonProblem, ...JsonProblem[]] };
}

/** The same for who needs it sound; the first thing that is wrong is thrown with its line and column. */
export function parseJsonFile<T>(file: string, text: string, schema: z.ZodType<T>): T {
  const checked = checkJson(text, schema);
  if ('value' in checked) return checked.value;
  const [problem] = checked.problems;
  throw new SquadError('CONFIG_INVALID', problemText(file, text, problem), {
    suggestions: [problem.suggestion ?? `Fix ${file}, then try again.`],
  });
}

export function problemText(file: string, text: string, { offset, message }: JsonProblem): string {
  const { line, column } = placeOf(text, offset);
  return `${file}, line ${line}, column ${column}: ${message}.`;
}
