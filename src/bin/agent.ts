import { text } from 'node:stream/consumers';
import { hubProgram } from '../link/program.ts';
import { replaceKilledHub } from '../link/replace-killed-hub.ts';
import { runAgent } from '../model-loop/agent.ts';
import { createOutputWriter } from '../model-loop/output-lines.ts';

const HELP = `squad agent REQUEST-FILE < PROMPT

Squad's own agent: asks a model, runs the tools it calls, and asks again until it is done. Squad starts it for every run of the
engine "native" and writes the request file; it is not meant to be started by hand. To run an agent: squad run --engine native
--model anthropic/MODEL ROLE "task". To offer one as a tool to an MCP client: squad mcp serve --config FILE.
`;

const STOPPED = 143;

// Works as `squad agent` or as a separate program.
const file = process.argv[process.argv[2] === 'agent' ? 3 : 2];
if (file === undefined || file.startsWith('-')) {
  const isAsked = file === '--help' || file === '-h';
  process.stderr.write(isAsked ? HELP : `squad agent: expected a request file.\n\n${HELP}`);
  process.exitCode = isAsked ? 0 : 2;
} else void start(file);

async function start(requestFile: string): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort(new Error(`Stopped by ${signal}`)));
  const { emit, hideSecrets } = createOutputWriter(process.stdout);
  // The reader of the output has closed the pipe, so nobody needs the result.
  process.stdout.on('error', () => process.exit(1));
  process.on('uncaughtException', thrown => {
    emit({ type: 'end', ok: false, answer: '', error: thrown.message, code: 'ENGINE_FAILED' });
    process.exit(1);
  });
  stop.signal.addEventListener('abort', () => process.stdin.destroy());
  // An incomplete prompt is not used: the signal has already stopped the run.
  const prompt = await text(process.stdin).catch(() => '');
  const { env } = process;
  const cwd = process.cwd();
  const run = { requestFile, prompt, env, cwd, signal: stop.signal, emit, hideSecrets };
  const code = await runAgent({ ...run, replaceKilledHub: () => replaceKilledHub(env, hubProgram) });
  process.stdout.write('', () => process.exit(stop.signal.aborted ? STOPPED : code));
}
