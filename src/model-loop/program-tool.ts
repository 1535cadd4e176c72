import type { CodeResult, CodeRunner } from '../code-mode/code-mode.ts';
import { KeptCalls, ProgramCalls } from './program-calls.ts';
import { answerText, type PlainTool, saying, type Tool } from './tool.ts';

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
        return saying(result.ok, wordsOf(result));
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

function wordsOf({ output, returned, error }: CodeResult): string {
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
