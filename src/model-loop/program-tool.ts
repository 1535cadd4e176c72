import type { CallEnd, CallWatch, CodeResult, CodeRunner } from '../code-mode/code-mode.ts';
import type { TracePart } from '../schema/conversation.ts';
import { MAX_KEPT_LENGTH } from './output-lines.ts';
import { answerText, type CallTelling, type PlainTool, saying, type Tool } from './tool.ts';

/** Of one program. A loop can call a tool without end, and what it is about shows in the first of them. */
const MAX_CALLS = 500;
const MAX_CHARS = 2 * 1024 * 1024;
/** Of all programs together. */
const MAX_CALLS_IN_ALL = 5_000;
const MAX_CHARS_IN_ALL = 16 * 1024 * 1024;
/** What comes close together is written together: a call costs the program next to nothing. */
const GATHER_MS = 100;
const GATHER_CHARS = 256 * 1024;

/** How much of what programs called has been written down. */
export class KeptCalls {
  calls = 0;
  chars = 0;
}

/** Tells of the calls that one program makes, as of any other call, and writes them down below it. */
export class ProgramCalls {
  readonly #telling: CallTelling;
  readonly #inAll: KeptCalls;
  readonly #own = new KeptCalls();
  readonly #left = { calls: 0, failed: 0 };
  #parts: TracePart[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(telling: CallTelling, inAll: KeptCalls) {
    this.#telling = telling;
    this.#inAll = inAll;
  }

  readonly watch: CallWatch = ({ name }, args) => {
    if (!this.#hasRoom()) return this.#leaveOut();
    const { id: within, say } = this.#telling;
    const id = `${within}.${++this.#own.calls}`;
    this.#inAll.calls++;
    const given = JSON.stringify(args);
    say({ type: 'tool', id, name, detail: given });
    this.#add({ type: 'tool_call', id, name, input: args, within, at: Date.now() }, given.length);
    return end => {
      const words = endText(end);
      say({ type: 'tool_end', id, name, ok: end.ok, detail: words });
      const output = end.ok ? (end.value ?? '') : words;
      const result = { type: 'tool_result' as const, id, name, output, isError: !end.ok };
      this.#add({ ...result, within, at: Date.now() }, words.length);
    };
  };

  /** The program has ended, and so has every call of it. */
  over(): void {
    const { calls, failed } = this.#left;
    const { id: within, say } = this.#telling;
    if (calls > 0) {
      say({ type: 'more_tools', calls, failed });
      this.#parts.push({ type: 'more_calls', within, calls, failed });
    }
    this.#write();
  }

  #hasRoom(): boolean {
    const [own, inAll] = [this.#own, this.#inAll];
    return (
      own.calls < MAX_CALLS &&
      own.chars < MAX_CHARS &&
      inAll.calls < MAX_CALLS_IN_ALL &&
      inAll.chars < MAX_CHARS_IN_ALL
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
    this.#inAll.chars += kept;
    this.#parts.push(part);
    this.#chars += length;
    if (this.#chars >= GATHER_CHARS) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), GATHER_MS);
  }

  #write(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#parts.length > 0) this.#telling.trace(this.#parts);
    this.#parts = [];
    this.#chars = 0;
  }
}

function endText(end: CallEnd): string {
  if (!end.ok) return end.error;
  return typeof end.value === 'string' ? end.value : (end.json ?? '');
}

const RUN_PROGRAM = 'run_program';

/** The one tool of code mode: a program of the model's, in which its other tools are functions. */
export function programTool(runner: CodeRunner): Tool {
  const kept = new KeptCalls();
  return {
    name: RUN_PROGRAM,
    description: `${RULES}\n\n${runner.declarations}`,
    inputSchema: {
      type: 'object',
      properties: { program: { type: 'string', description: 'TypeScript, as described.' } },
      required: ['program'],
      additionalProperties: false,
    },
    async call({ program }, signal, telling) {
      if (typeof program !== 'string')
        return saying(false, 'program is not a string: write the whole program into it');
      const calls = new ProgramCalls(telling, kept);
      try {
        const result = await runner.run(program, signal, calls.watch);
        return saying(result.ok, resultText(result));
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

/** What a program gets from a tool: its value where it says one, else its words. */
export async function valueFrom(
  tool: PlainTool,
  args: Record<string, unknown>,
  signal: AbortSignal,
): Promise<unknown> {
  const answer = await tool.call(args, signal);
  if (!answer.ok) throw new Error(answerText(answer));
  return answer.structured ?? answerText(answer);
}
