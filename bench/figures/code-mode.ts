import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { CallWatch, CodeRunner, CodeTool } from '../../src/code-mode/code-mode.ts';
import { createCodeRunner } from '../../src/code-mode/code-runner.ts';
import { findSandbox } from '../../src/code-mode/sandbox.ts';
import { createOutputWriter } from '../../src/model-loop/output-lines.ts';
import { CallTotals, ProgramCalls } from '../../src/model-loop/program-tool.ts';
import type { TracePart } from '../../src/schema/conversation.ts';
import { type Figure, paired, type Row, sampled } from '../figure.ts';
import { interleave, repeat, timed } from '../measure.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const MAX_TIMES_NODE = 2.5;
const MAX_OVER_CALL_MS = 2;
const CALLS = 200;
const AT_ONCE = 50;
const AT_ONCE_RUNS = 20;
const LIMITS = { timeoutMs: 60_000, memoryMb: 256, outputChars: 20_000 };

/** Cost of the sandbox of a model's program, and of a call from inside it. */
export const codeMode: Figure = {
  name: 'code-mode',
  title: 'Code mode: a program in its sandbox, and its calls of tools',
  async measure() {
    const guest = join(import.meta.dirname, '..', '..', 'dist', 'code-guest.cjs');
    const sandbox = await findSandbox(process.env, guest);
    if ('missing' in sandbox) throw new Error(`${sandbox.missing} ${sandbox.suggestions.join(' ')}`);
    await using runner = createCodeRunner({ tools: [echo], limits: LIMITS, sandbox });
    return [...(await starts(runner)), ...(await calls(runner))];
  },
};

const echo: CodeTool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  call: async args => args,
};

const TYPED = 'const a: number = 1;';

/**
 * `cold` starts the sandbox with the program. `ahead` starts it earlier, as an agent does while it waits for the model.
 */
async function starts(runner: CodeRunner): Promise<Row[]> {
  const bareNode = () => timed(() => once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit'));
  const cold = (program: string) => interleave(() => timed(() => result(runner, program)), bareNode);
  const ahead = (program: string) =>
    interleave(async () => {
      await runner.prepare();
      return timed(() => result(runner, program));
    }, bareNode);
  const preparing = await interleave(async () => {
    const took = await timed(() => runner.prepare());
    await result(runner, '');
    return took;
  }, bareNode);
  const most = {
    target: `≤ ${MAX_TIMES_NODE} ×`,
    isMet: ({ ratio }: Row) => ratio! <= MAX_TIMES_NODE,
  };
  return [
    paired('a program with a type in it, started ahead, against node -e 0', 'ms', await ahead(TYPED), {
      ...most,
      note: 'from handing it over to its end, in a process that is up: the agent starts it while the model is waited for',
    }),
    paired('the same without types', 'ms', await ahead(''), most),
    paired('the start ahead itself, until it is up', 'ms', preparing, {
      note: 'not in the numbers above; it is in the way only of a model that answers sooner than this',
    }),
    paired('a program with a type in it, cold', 'ms', await cold(TYPED), {
      note: 'nothing started ahead, as for the second of two programs at once: Node starts, then loads what removes types',
    }),
    paired('the same without types, cold', 'ms', await cold(''), {
      note: 'what removes types is not loaded',
    }),
  ];
}

async function calls(runner: CodeRunner): Promise<Row[]> {
  // The first calls only warm up and are not measured.
  const inTurn = `for (let n = 0; n < 50; n++) await tools.echo({ n });
const start = Date.now();
for (let n = 0; n < ${CALLS}; n++) await tools.echo({ n });
return (Date.now() - start) / ${CALLS};`;
  const oneByOne = await interleave(async () => Number(await recorded(runner, inTurn)), directly);
  const together = `const start = Date.now();
await Promise.all(Array.from({ length: ${AT_ONCE} }, (_, n) => tools.echo({ n })));
return Date.now() - start;`;
  const atOnce = await repeat(AT_ONCE_RUNS, async () => Number(await recorded(runner, together)));
  const whole = await repeat(AT_ONCE_RUNS, () => timed(() => recorded(runner, together)));
  return [
    paired('a call of a tool, against calling its function', 'ms', oneByOne, {
      target: `≤ floor + ${MAX_OVER_CALL_MS} ms`,
      isMet: ({ over }) => over! <= MAX_OVER_CALL_MS,
      note: `the mean of ${CALLS} in turn, by the program's own clock, each told and written down as the agent does it`,
    }),
    sampled(`${AT_ONCE} calls at once, all answered`, 'ms', atOnce, { note: "by the program's own clock" }),
    sampled(`a program with ${AT_ONCE} calls, from start to end`, 'ms', whole),
  ];
}

async function directly(): Promise<number> {
  const { signal } = new AbortController();
  const took = await timed(async () => {
    for (let n = 0; n < CALLS; n++) await echo.call({ n }, signal);
  });
  return took / CALLS;
}

/** Runs a program with every call recorded in the output of a run, as an agent does. */
async function recorded(runner: CodeRunner, program: string): Promise<string | null> {
  const folder = temporaryFolder();
  const output = openSync(join(folder, 'stdout'), 'w');
  const { emit } = createOutputWriter({ write: text => writeSync(output, text) });
  const trace = (content: TracePart[]) =>
    emit({
      type: 'message',
      message: { id: 'msg_0123456789', parentId: null, role: 'program', content, at: 0 },
    });
  const calls = new ProgramCalls({ id: 'p', emit, trace }, new CallTotals());
  try {
    return await result(runner, program, calls.watch);
  } finally {
    calls.over();
    closeSync(output);
    rmSync(folder, { recursive: true });
  }
}

async function result(runner: CodeRunner, program: string, watch?: CallWatch): Promise<string | null> {
  const { ok, error, returned } = await runner.run(program, new AbortController().signal, watch);
  if (!ok) throw new Error(error ?? 'no reason');
  return returned;
}
