import { randomBytes } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { type Context, compileFunction, createContext, Script } from 'node:vm';
import { Eta } from 'eta/core';
import { SquadError } from '../../schema/error.ts';
import { createScope, UnknownVariable } from './scope.ts';
import { isVariable, type Piece, type TemplateValues, VARIABLES, type VariableName } from './variables.ts';

export interface Rendered {
  pieces: Piece[];
  uses: Set<VariableName>;
}

/**
 * Runs a template. Eta parses the syntax, but Squad generates the code. A value stays a separate piece and never
 * becomes text of the command, and no raw output, include or layout can bypass that.
 */
export function runTemplate(template: string, values: TemplateValues, attempts = MAX_ATTEMPTS): Rendered {
  if (template.includes('\0')) throw invalid('holds a NUL character', null);
  if (endless?.template === template && performance.now() < endless.until) throw endless.refusal;
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
    const run = compileBounded(program.code, [NAMES, TEXT, START, VALUE], {
      filename: FILE,
      mayLoop: program.mayLoop,
    });
    run(scope.names, (text: string) => pieces.push(text), start, value);
  } catch (thrown) {
    if (thrown instanceof RanTooLong && thrown.wasPaused && attempts > 1)
      return runTemplate(template, values, attempts - 1);
    const refusal = explain(thrown, program.lines);
    if (thrown instanceof RanTooLong)
      endless = { template, refusal, until: performance.now() + ENDLESS_REST_MS };
    throw refusal;
  }
  return { pieces, uses };
}

/**
 * Maximum attempts to run a template. On a busy machine the system may suspend the hub for longer than a template may
 * run.
 */
const MAX_ATTEMPTS = 3;

/**
 * How long a template that timed out is refused without another attempt. Every member of a squad runs the same
 * template, and should not wait for the timeout again.
 */
const ENDLESS_REST_MS = 10_000;
let endless: { template: string; refusal: SquadError; until: number } | null = null;

// Random suffix for internal names, so that a template cannot refer to them.
const SECRET = randomBytes(8).toString('hex');
const NAMES = `names_${SECRET}`;
const TEXT = `text_${SECRET}`;
const START = `start_${SECRET}`;
const VALUE = `value_${SECRET}`;
const FILE = `template_${SECRET}`;

// `debug` makes Eta's parser record line numbers. Only the parser of Eta is used, not its compiler.
const eta = new Eta({ autoTrim: false, debug: true });
type Ast = ReturnType<typeof eta.parse>;

function parse(template: string): Ast {
  try {
    return eta.parse(template);
  } catch (thrown) {
    throw invalid(`cannot be read: ${firstLine(thrown)}`, null, { cause: thrown });
  }
}

/**
 * Matches all code in a template that has only variables, texts and conditions. Most templates are of this kind, and
 * they always terminate.
 */
const STRAIGHT = new RegExp(
  `\\b(it\\.)?(${VARIABLES.join('|')})\\b|\\bif\\b|\\belse\\b|'[^'\\\\]*'|"[^"\\\\]*"|[!=]==?|[\\s(){};!&|?:]`,
  'g',
);

/** The generated program, and for each of its lines the line of the template. */
function generate(ast: Ast): { code: string; lines: number[]; mayLoop: boolean } {
  const code: string[] = [`with (${NAMES}) {`];
  const lines = [1];
  let line = 1;
  let mayLoop = false;
  const put = (text: string) => {
    for (const [index, row] of text.split('\n').entries()) {
      code.push(row);
      lines.push(line + index);
    }
  };
  for (const node of ast) {
    if (typeof node === 'string') {
      // Eta has already escaped this text for single quotes.
      put(`${TEXT}('${node}');`);
      continue;
    }
    line = node.lineNo ?? line;
    mayLoop ||= node.val.replace(STRAIGHT, '') !== '';
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
      throw invalid(`has <% ${name} %>, which outputs nothing`, line, {
        suggestions: [`Write <%= ${name} %> to put the value there.`],
      });
    put(node.val);
  }
  put('}');
  return { code: code.join('\n'), lines, mayLoop };
}

function asText(given: unknown): string {
  if (typeof given === 'string') return given;
  if (typeof given === 'number' || typeof given === 'boolean') return String(given);
  throw new TypeError(`the value is not text but ${given === null ? 'null' : typeof given}`);
}

function explain(thrown: unknown, lines: number[]): SquadError {
  if (thrown instanceof RanTooLong)
    return invalid(thrown.message, null, {
      suggestions: ['Check the template for a loop that does not end.'],
    });
  const stack = isNativeError(thrown) ? (thrown.stack ?? '') : '';
  const generated = new RegExp(`${FILE}:(\\d+)`).exec(stack)?.[1];
  const line = generated ? (lines[Number(generated) - 1] ?? null) : null;
  if (thrown instanceof UnknownVariable)
    return invalid(`uses the unknown variable "${thrown.variable}"`, line, {
      suggestions: [`A template can use: ${VARIABLES.join(', ')}.`],
    });
  const kind = isNativeError(thrown) && thrown.name === 'SyntaxError' ? 'has a syntax error' : 'failed';
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
  (isNativeError(thrown) ? thrown.message : String(thrown)).split('\n')[0]!.replace(/[.:]$/, '');

/** Time limit of a template. A template takes microseconds, so a slower one never ends and would block the hub. */
const MAX_RUN_MS = 250;

export class RanTooLong extends Error {
  /** True if this process got less than half of the time limit on a processor. */
  readonly wasPaused: boolean;

  constructor(cpu: NodeJS.CpuUsage) {
    super(`ran longer than ${MAX_RUN_MS} ms`);
    this.wasPaused = (cpu.user + cpu.system) / 1000 < MAX_RUN_MS / 2;
  }
}

/**
 * Runs JavaScript that cannot block the hub. The code runs in a context with its own microtask queue, so that pending
 * microtasks are stopped with it. All templates share one context, because creating a context costs more than running
 * a template.
 */
export function compileBounded(
  code: string,
  names: string[],
  { filename, mayLoop }: { filename: string; mayLoop: boolean },
): (...values: unknown[]) => void {
  // Code without loops runs without a timeout, because a timeout needs a thread, which costs ten times as much as the
  // rest.
  if (!mayLoop) return (...values) => void compileFunction(code, names, { filename })(...values);
  room ??= createContext({}, { microtaskMode: 'afterEvaluate' });
  const place = room;
  const run = compileFunction(code, names, { filename, parsingContext: place });
  return (...values) => {
    place.run = () => void run(...values);
    const before = process.cpuUsage();
    try {
      CALL.runInContext(place, { timeout: MAX_RUN_MS });
    } catch (thrown) {
      if ((thrown as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
      // A new context is needed: pending microtasks of this template would run with the next template.
      room = null;
      throw new RanTooLong(process.cpuUsage(before));
    } finally {
      place.run = null;
    }
  };
}

const CALL = new Script('run()');
let room: Context | null = null;
