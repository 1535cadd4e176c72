import { randomBytes } from 'node:crypto';
import { compileFunction } from 'node:vm';
import { Eta } from 'eta/core';
import { SquadError } from '../../schema/error.ts';
import { createScope, UnknownVariable } from './scope.ts';
import { isVariable, type Piece, type TemplateValues, VARIABLES, type VariableName } from './variables.ts';

export interface Rendered {
  pieces: Piece[];
  uses: Set<VariableName>;
}

/**
 * Runs a template. Eta reads its syntax; the code around it is ours, so that a value never becomes text: it stays
 * a piece of its own, and there is no raw output, include or layout to get around that.
 */
export function runTemplate(template: string, values: TemplateValues): Rendered {
  if (template.includes('\0')) throw invalid('holds a NUL character', null);
  const program = generate(parse(template));
  const scope = createScope(values, [NAMES, TEXT, START, VALUE]);
  const pieces: Piece[] = [];
  const uses = new Set<VariableName>();
  let reads = new Set<VariableName>();
  scope.onRead = name => {
    uses.add(name);
    reads.add(name);
  };
  const start = () => {
    reads = new Set();
    return reads;
  };
  const value = (tag: string, looked: Set<VariableName>, given: unknown) => {
    pieces.push({ text: asText(given), tag, reads: looked });
  };
  try {
    const run = compileFunction(program.code, [NAMES, TEXT, START, VALUE], { filename: FILE });
    run(scope.names, (text: string) => pieces.push(text), start, value);
  } catch (thrown) {
    throw explain(thrown, program.lines);
  }
  return { pieces, uses };
}

// A template cannot name what it cannot guess.
const SECRET = randomBytes(8).toString('hex');
const NAMES = `names_${SECRET}`;
const TEXT = `text_${SECRET}`;
const START = `start_${SECRET}`;
const VALUE = `value_${SECRET}`;
const FILE = `template_${SECRET}`;

// `debug` only makes the parser note line numbers: Eta's own compiler is not used.
const eta = new Eta({ autoTrim: false, debug: true });
type Ast = ReturnType<typeof eta.parse>;

function parse(template: string): Ast {
  try {
    return eta.parse(template);
  } catch (thrown) {
    throw invalid(`cannot be read: ${firstLine(thrown)}`, null, { cause: thrown });
  }
}

/** The program, and for each of its lines the template's line. */
function generate(ast: Ast): { code: string; lines: number[] } {
  const code: string[] = [`with (${NAMES}) {`];
  const lines = [1];
  let line = 1;
  const put = (text: string) => {
    for (const [index, row] of text.split('\n').entries()) {
      code.push(row);
      lines.push(line + index);
    }
  };
  for (const node of ast) {
    if (typeof node === 'string') {
      // Eta has already escaped it for single quotes.
      put(`${TEXT}('${node}');`);
      continue;
    }
    line = node.lineNo ?? line;
    if (node.t === 'r')
      throw invalid('uses <%~, which would put a value into the command line as raw text', line, {
        suggestions: [`Write <%= ${node.val.trim()} %>: the value becomes exactly one argument.`],
      });
    if (node.t === 'i') {
      put(`${VALUE}(${JSON.stringify(`<%= ${node.val.trim()} %>`)}, ${START}(), (`);
      put(node.val);
      put('));');
      continue;
    }
    const name = node.val.trim().replace(/^it\./, '');
    if (isVariable(name))
      throw invalid(`has <% ${name} %>, which puts nothing out`, line, {
        suggestions: [`Write <%= ${name} %> to put the value there.`],
      });
    put(node.val);
  }
  put('}');
  return { code: code.join('\n'), lines };
}

function asText(given: unknown): string {
  if (typeof given === 'string') return given;
  if (typeof given === 'number' || typeof given === 'boolean') return String(given);
  throw new TypeError(`the value is not text but ${given === null ? 'null' : typeof given}`);
}

function explain(thrown: unknown, lines: number[]): SquadError {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : '';
  const generated = new RegExp(`${FILE}:(\\d+)`).exec(stack)?.[1];
  const line = generated ? (lines[Number(generated) - 1] ?? null) : null;
  if (thrown instanceof UnknownVariable)
    return invalid(`uses the unknown variable "${thrown.variable}"`, line, {
      suggestions: [`A template can use: ${VARIABLES.join(', ')}.`],
    });
  const kind = thrown instanceof SyntaxError ? 'has a syntax error' : 'failed';
  return invalid(`${kind}: ${firstLine(thrown)}`, line, {
    suggestions: ['Templates use Eta syntax: <%= value %>, <% if (chatId) { %> … <% } %>.'],
    cause: thrown,
  });
}

function invalid(
  problem: string,
  line: number | null,
  options: { suggestions?: string[]; cause?: unknown } = {},
): SquadError {
  return new SquadError(
    'TEMPLATE_INVALID',
    `The template ${problem}${line ? ` (line ${line})` : ''}.`,
    options,
  );
}

const firstLine = (thrown: unknown) =>
  (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!.replace(/[.:]$/, '');
