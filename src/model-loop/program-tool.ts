import type { CallEnd, CallWatch, CodeResult, CodeRunner } from '../code-mode/code-mode.ts';
import type { TracePart } from '../schema/conversation.ts';
import { MAX_KEPT_LENGTH } from './output-lines.ts';
import { answerText, type CallReporter, type PlainTool, type Tool, textAnswer } from './tool.ts';

/**
 * Maximum number of recorded calls of one program. A loop can call a tool endlessly; the first calls show what it does.
 */
const MAX_CALLS = 500;
const MAX_CHARS = 2 * 1024 * 1024;
/** Maximum number of recorded calls of all programs of a turn. */
const MAX_TOTAL_CALLS = 5_000;
const MAX_TOTAL_CHARS = 16 * 1024 * 1024;
/** Calls are recorded in batches, because a program can make thousands of them per second. */
const GATHER_MS = 100;
const GATHER_CHARS = 256 * 1024;

export class CallTotals {
  calls = 0;
  chars = 0;
}

/** Reports the calls of one program like other calls, and records each below the program's own call. */
export class ProgramCalls {
  readonly #reporter: CallReporter;
  readonly #total: CallTotals;
  readonly #own = new CallTotals();
  readonly #left = { calls: 0, failed: 0 };
  #parts: TracePart[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(reporter: CallReporter, total: CallTotals) {
    this.#reporter = reporter;
    this.#total = total;
  }

  readonly watch: CallWatch = ({ name }, args) => {
    if (!this.#hasRoom()) return this.#leaveOut();
    const { id: within, emit } = this.#reporter;
    const id = `${within}.${++this.#own.calls}`;
    this.#total.calls++;
    const given = JSON.stringify(args);
    emit({ type: 'tool', id, name, detail: given });
    this.#add({ type: 'tool_call', id, name, input: args, within, at: Date.now() }, given.length);
    return end => {
      const text = endText(end);
      emit({ type: 'tool_end', id, name, ok: end.ok, detail: text });
      const output = end.ok ? (end.value ?? '') : text;
      const result = { type: 'tool_result' as const, id, name, output, isError: !end.ok };
      this.#add({ ...result, within, at: Date.now() }, text.length);
    };
  };

  /** Must be called when the program and all its calls have ended. */
  over(): void {
    const { calls, failed } = this.#left;
    const { id: within, emit } = this.#reporter;
    if (calls > 0) {
      emit({ type: 'more_tools', calls, failed });
      this.#parts.push({ type: 'more_calls', within, calls, failed });
    }
    this.#write();
  }

  #hasRoom(): boolean {
    const [own, total] = [this.#own, this.#total];
    return (
      own.calls < MAX_CALLS &&
      own.chars < MAX_CHARS &&
      total.calls < MAX_TOTAL_CALLS &&
      total.chars < MAX_TOTAL_CHARS
    );
  }

  #leaveOut(): (end: CallEnd) => void {
    this.#left.calls++;
    return ({ ok }) => {
      if (!ok) this.#left.failed++;
    };
  }

  #add(part: TracePart, length: number): void {
    const kept = Math.min(length, MAX_KEPT_LENGTH);
    this.#own.chars += kept;
    this.#total.chars += kept;
    this.#parts.push(part);
    this.#chars += length;
    if (this.#chars >= GATHER_CHARS) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), GATHER_MS);
  }

  #write(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#parts.length > 0) this.#reporter.trace(this.#parts);
    this.#parts = [];
    this.#chars = 0;
  }
}

function endText(end: CallEnd): string {
  if (!end.ok) return end.error;
  return typeof end.value === 'string' ? end.value : (end.json ?? '');
}

const RUN_PROGRAM = 'run_program';

/** The tool of code mode: runs a program of the model, in which the other tools are functions. */
export function programTool(runner: CodeRunner): Tool {
  const kept = new CallTotals();
  return {
    name: RUN_PROGRAM,
    description: `${RULES}\n\n${runner.declarations}`,
    inputSchema: {
      type: 'object',
      properties: { program: { type: 'string', description: 'TypeScript, as described.' } },
      required: ['program'],
      additionalProperties: false,
    },
    async call({ program }, signal, reporter) {
      if (typeof program !== 'string')
        return textAnswer(false, '"program" must be a string with the whole program');
      const calls = new ProgramCalls(reporter, kept);
      try {
        const result = await runner.run(program, signal, calls.watch);
        return textAnswer(result.ok, resultText(result));
      } finally {
        calls.over();
      }
    },
  };
}

const RULES = `Runs a program that you write, in a sandbox where your tools are async functions.
- Do as much as you can in one program: loops, conditions, and Promise.all for calls that do not depend on each other.
- A call that fails throws; catch it if you can go on without.
- Print or return only what you need to read.`;

function resultText({ output, returned, error }: CodeResult): string {
  return [
    output.trimEnd(),
    returned === null ? '' : `returned: ${returned}`,
    error === null ? '' : `error: ${error}`,
  ]
    .filter(Boolean)
    .join('\n');
}

/** The value that a program gets from a tool: its structured result, or else its text. */
export async function valueFrom(
  tool: PlainTool,
  args: Record<string, unknown>,
  signal: AbortSignal,
): Promise<unknown> {
  const answer = await tool.call(args, signal);
  if (!answer.ok) throw new Error(answerText(answer));
  return answer.structured ?? answerText(answer);
}
