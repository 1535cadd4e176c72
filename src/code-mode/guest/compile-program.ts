import { stripTypeScriptTypes } from 'node:module';
import { Script } from 'node:vm';

/** On the first line of the program, so that its lines keep their numbers. */
const BEFORE = '(async () => {';
const AFTER = '\n})';
const FILE = 'program.ts';

/** Whether it may hold what is also JavaScript, but with another meaning: `f<T>(x)`. */
const MAY_BE_GENERIC = /(?<!=)>\s*[(`]/;

/** A program as a function to call. What is plain JavaScript is taken as it is: removing types takes longer than starting. */
export function compileProgram(program: string): { script: Script } | { error: string } {
  if (!MAY_BE_GENERIC.test(program)) {
    const plain = compile(program);
    if (!(plain instanceof Error)) return { script: plain };
  }
  try {
    const text = stripTypeScriptTypes(`${BEFORE}${program}${AFTER}`).slice(BEFORE.length, -AFTER.length);
    const script = compile(text);
    return script instanceof Error ? { error: beginning(script) } : { script };
  } catch (thrown) {
    return { error: unstrippable(thrown, program) };
  }
}

/** Node loads what removes types when it is first used. */
export const loadStripper = (): void => void stripTypeScriptTypes('let loaded: true;');

function compile(text: string): Script | Error {
  try {
    return new Script(`${BEFORE}${text}${AFTER}`, { filename: FILE, columnOffset: -BEFORE.length });
  } catch (thrown) {
    return thrown as Error;
  }
}

/** Place, line and message, as V8 puts them before its stack. */
const beginning = ({ stack = '' }: Error): string => stack.split(/\n\s+at /)[0]!.trim();

/** The line stands before its stack, too. */
function unstrippable(thrown: unknown, program: string): string {
  const { code, message, stack = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'ERR_INTERNAL_ASSERTION') return 'SyntaxError: The program is nested too deeply to be read.';
  const lines = program.split('\n');
  // The end of the program is a line of ours.
  const line = Math.min(Number(/^\S*:(\d+)\n/.exec(stack)?.[1] ?? 0), lines.length);
  const place = line > 0 ? `${FILE}:${line}\n${lines[line - 1]!.slice(0, 200)}\n\n` : '';
  const advice = code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' ? ADVICE : '';
  return `${place}SyntaxError: ${message}${advice}`;
}

const ADVICE = '\nTypes are removed and nothing else is changed: write it as JavaScript has it.';
