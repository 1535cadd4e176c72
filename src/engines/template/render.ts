import { checkText } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { runTemplate } from './compile.ts';
import type { Interpolated, TemplateValues, VariableName } from './variables.ts';
import { splitCommandLine, type Word } from './words.ts';

export interface RenderedCommand {
  argv: [string, ...string[]];
  /** Variables that the template used. */
  uses: Set<VariableName>;
}

/**
 * Renders a template to an argument list. A value always stays one argument or part of one, whatever characters it
 * contains.
 */
export function renderCommand(template: string, values: TemplateValues): RenderedCommand {
  const { pieces, uses } = runTemplate(template, values);
  const [command, ...rest] = splitCommandLine(pieces);
  if (!command)
    throw new SquadError('TEMPLATE_INVALID', 'The template gives an empty command line.', {
      suggestions: [
        'Begin the template with the program to start, for example: cursor-agent --print "<%= prompt %>"',
      ],
    });
  checkCommandWord(command, values);
  return { argv: [argumentOf(command, values), ...rest.map(word => argumentOf(word, values))], uses };
}

/** Linux's limit for one argument, including the final NUL. */
const MAX_ARGUMENT_BYTES = 128 * 1024;

function argumentOf(word: Word, values: TemplateValues): string {
  for (const piece of word) if (typeof piece !== 'string') checkText(piece.text, `The value of ${piece.tag}`);
  const text = guardFlag(word, textOf(word), values);
  const bytes = Buffer.byteLength(text) + 1;
  if (bytes > MAX_ARGUMENT_BYTES)
    throw new SquadError(
      'ARGUMENT_TOO_LONG',
      `The argument ${shown(word)} would be ${bytes} bytes; the limit of the system is ${MAX_ARGUMENT_BYTES}.`,
      {
        suggestions: [
          'Give the program the path instead: <%= promptFile %> names a file that holds the prompt.',
          'Or leave prompt, task and promptFile out of the template: the prompt then comes on standard input.',
        ],
      },
    );
  return text;
}

/**
 * Keeps a value from being read as an option. Free text gets a newline in front. For other values that would change
 * the meaning, so they are refused.
 */
function guardFlag(word: Word, text: string, values: TemplateValues): string {
  const first = word.find(piece => (typeof piece === 'string' ? piece : piece.text) !== '');
  if (first === undefined || typeof first === 'string' || !first.text.startsWith('-')) return text;
  if (comesFrom(first, FREE_TEXT, values) && !isMixed(first, values)) return `\n${text}`;
  throw new SquadError(
    'ARGUMENT_LOOKS_LIKE_FLAG',
    `The value of ${first.tag} begins with "-" and would be read as an option: ${excerpt(first.text)}`,
    { suggestions: ['Change the value, or tie it to its option in the template: --option=<%= value %>.'] },
  );
}

/** Text of a caller must not choose the program or a part of its name. */
function checkCommandWord(word: Word, values: TemplateValues): void {
  const given = word.find(piece => typeof piece !== 'string' && comesFrom(piece, CALLER_TEXT, values));
  if (given)
    throw new SquadError(
      'TEMPLATE_INVALID',
      `The template's first word, the program, contains ${shown([given])}.`,
      {
        suggestions: ['Begin the template with the program to start.'],
      },
    );
  if (textOf(word) !== '') return;
  if (word.some(piece => typeof piece !== 'string' && piece.reads.has('engine')))
    throw new SquadError('ENGINE_NOT_SET', 'The template starts with <%= engine %>, but no engine is set.', {
      suggestions: [
        'Set ENGINE_COMMAND, or "engine" in .squad/squad.json, or name the program in the template.',
      ],
    });
  throw new SquadError('TEMPLATE_INVALID', "The template's first word, the program, is empty.", {
    suggestions: ['Begin the template with the program to start.'],
  });
}

const FREE_TEXT: VariableName[] = ['prompt', 'task'];
const CALLER_TEXT: VariableName[] = [...FREE_TEXT, 'chatId'];

/**
 * Whether the value comes from one of these variables. Decided by the variables in its expression, or for a local
 * variable of the template by its text.
 */
function comesFrom(value: Interpolated, names: VariableName[], values: TemplateValues): boolean {
  if (value.reads.size > 0) return names.some(name => value.reads.has(name));
  return value.text !== '' && names.some(name => value.text === values[name]);
}

/** An expression such as `task || model` uses two variables. The text shows which one it returned. */
function isMixed(value: Interpolated, values: TemplateValues): boolean {
  const others = [...value.reads].some(name => !FREE_TEXT.includes(name));
  return others && !FREE_TEXT.some(name => value.reads.has(name) && value.text === values[name]);
}

const textOf = (word: Word) => word.map(piece => (typeof piece === 'string' ? piece : piece.text)).join('');
const shown = (word: Word) =>
  excerpt(word.map(piece => (typeof piece === 'string' ? piece : piece.tag)).join(''));
const excerpt = (text: string) => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
