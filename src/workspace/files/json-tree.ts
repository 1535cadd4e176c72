import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

/** Something wrong in a JSON file, at a place in its text. */
export interface JsonProblem {
  offset: number;
  message: string;
  suggestion?: string;
}

/** No file of ours is nested this deep, and the parser keeps one stack frame for each level. */
const DEEPEST = 64;
/** Nobody reads more. */
const MOST = 100;

/** The text as a tree in which every key stands once, so that whoever reads it reads the same. */
export function parseJsonTree(
  text: string,
  /** Comments and trailing commas, as some programs write and read them. */
  isRelaxed = false,
): { tree: Node } | { problems: [JsonProblem, ...JsonProblem[]] } {
  const tooDeep = depthProblem(text);
  if (tooDeep) return { problems: [tooDeep] };
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: !isRelaxed, allowTrailingComma: isRelaxed });
  const [error] = errors;
  if (text.trim() === '') return { problems: [{ offset: 0, message: 'the file is empty' }] };
  if (error || !tree) return { problems: [{ offset: error?.offset ?? 0, message: inWords(error) }] };
  const [problem, ...more] = keyProblems(tree);
  return problem ? { problems: [problem, ...more.slice(0, MOST - 1)] } : { tree };
}

/** The first thing that keeps a text from being JSON; null when nothing does. */
export function jsonProblem(text: string): JsonProblem | null {
  const parsed = parseJsonTree(text);
  return 'problems' in parsed ? parsed.problems[0] : null;
}

export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

/** By the tokens alone, without following them down. */
function depthProblem(text: string): JsonProblem | null {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const offset = scanner.getTokenOffset();
    const first = text[offset];
    if (first === '{' || first === '[') depth++;
    else if (first === '}' || first === ']') depth--;
    if (depth > DEEPEST) return { offset, message: `nested deeper than ${DEEPEST} levels` };
  }
  return null;
}

function keyProblems(node: Node): JsonProblem[] {
  const seen = new Set<unknown>();
  return (node.children ?? []).flatMap(child => {
    const key = child.type === 'property' ? child.children?.[0] : undefined;
    const problems: JsonProblem[] = [];
    if (key && seen.has(key.value))
      problems.push({
        offset: key.offset,
        message: `the key "${String(key.value)}" stands here a second time`,
      });
    // JavaScript gives it a meaning of its own, and some readers pass over it.
    if (key?.value === '__proto__')
      problems.push({ offset: key.offset, message: 'the key "__proto__" is not allowed' });
    if (key) seen.add(key.value);
    return [...problems, ...keyProblems(child)];
  });
}

/** `CommaExpected` → `comma expected`. */
function inWords(error: ParseError | undefined): string {
  if (!error) return 'value expected';
  return printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}
