import type { AgentRequest } from '../schema/agent-protocol.ts';
import type { CodeMode } from '../schema/model-spec.ts';
import { Ending } from './ending.ts';
import { type Endpoint, endpointTools } from './endpoint-tools.ts';
import { programTool, valueFrom } from './program-tool.ts';
import type { PlainTool, Tool } from './tool.ts';

/** What the model is offered, beside the way to end. Nothing is started for it before `prepare`. */
export interface Toolbox extends AsyncDisposable {
  tools: readonly Tool[];
  /** Makes ready what the model's next answer may need: for the time that it is waited for. */
  prepare(): void;
}

export async function toolboxOf(
  { endpoint, codeMode }: { endpoint: Endpoint | null; codeMode: AgentRequest['codeMode'] },
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Toolbox> {
  const listing = endpoint === null ? [] : endpointTools(endpoint, signal);
  if (codeMode === null) return onlyTools(await listing);
  const [tools, runner] = await Promise.all([listing, codeRunner(env)]);
  return inCodeMode(tools, codeMode, runner);
}

type MakeRunner = Awaited<ReturnType<typeof codeRunner>>;

function inCodeMode(
  tools: readonly PlainTool[],
  { excludedTools, ...limits }: CodeMode,
  makeRunner: MakeRunner,
): Toolbox {
  const apart = tools.filter(({ name }) => excludedTools.includes(name));
  const inside = tools.filter(({ name }) => !excludedTools.includes(name));
  const runner = makeRunner({
    limits,
    tools: inside.map(tool => ({ ...tool, call: (args, signal) => valueFrom(tool, args, signal) })),
  });
  return {
    tools: [programTool(runner), ...apart],
    prepare: () => void runner.prepare(),
    [Symbol.asyncDispose]: () => runner.close(),
  };
}

const onlyTools = (tools: readonly Tool[]): Toolbox => ({
  tools,
  prepare() {},
  async [Symbol.asyncDispose]() {},
});

/** Loaded only where it is wanted, and refused where there is nothing to run a program in. */
async function codeRunner(env: NodeJS.ProcessEnv) {
  const [{ createCodeRunner }, { findSandbox }] = await Promise.all([
    import('../code-mode/code-runner.ts'),
    import('../code-mode/find-sandbox.ts'),
  ]);
  const sandbox = await findSandbox(env);
  if ('missing' in sandbox)
    throw new Ending('SANDBOX_MISSING', [sandbox.missing, ...sandbox.suggestions].join(' '));
  return (options: Omit<Parameters<typeof createCodeRunner>[0], 'sandbox'>) =>
    createCodeRunner({ ...options, sandbox });
}
