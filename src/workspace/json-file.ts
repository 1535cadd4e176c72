import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { z } from 'zod';
import { nearest } from '../core/nearest.ts';
import { SquadError } from '../schema/error.ts';

/** Checks the content of a settings file; whatever is wrong is said with its line and column. */
export function parseJsonFile<T>(file: string, text: string, schema: z.ZodObject & z.ZodType<T>): T {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [error] = errors;
  if (error || !tree) throw invalid(file, text, error?.offset ?? 0, inWords(error));
  const parsed = schema.safeParse(getNodeValue(tree));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!;
    const known = Object.keys(schema.shape);
    const near = nearest(key, known);
    throw invalid(file, text, offsetOf(tree, [key], true), `the key "${key}" is not known`, [
      near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The keys are: ${known.join(', ')}.`,
    ]);
  }
  const path = issue.path.filter(step => typeof step !== 'symbol');
  const what = path.length > 0 ? `"${path.join('.')}" is wrong: ` : '';
  throw invalid(file, text, offsetOf(tree, path, false), `${what}${issue.message}`);
}

function invalid(
  file: string,
  text: string,
  offset: number,
  problem: string,
  suggestions?: string[],
): SquadError {
  const before = text.slice(0, offset).split('\n');
  const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
  return new SquadError('CONFIG_INVALID', `${file}, ${place}: ${problem}.`, {
    suggestions: suggestions ?? [`Fix ${file}, then try again.`],
  });
}

function offsetOf(tree: Node, path: (string | number)[], ofKey: boolean): number {
  const node = findNodeAtLocation(tree, path);
  return (ofKey ? node?.parent?.offset : node?.offset) ?? tree.offset;
}

/** `CommaExpected` → `comma expected`. */
function inWords(error: ParseError | undefined): string {
  if (!error) return 'the file is empty';
  return printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}
