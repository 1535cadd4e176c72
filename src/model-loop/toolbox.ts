import type { Sandbox } from '../code-mode/sandbox.ts';
import type { AgentRequest } from '../schema/agent-protocol.ts';
import { AgentError } from './agent-error.ts';
import { type Endpoint, endpointTools } from './endpoint-tools.ts';
import { programTool, valueFrom } from './program-tool.ts';
import type { PlainTool, Tool } from './tool.ts';

/** The tools of the model, except `final_answer`. No process is started for them before `prepare`. */
export interface Toolbox extends AsyncDisposable {
  tools: readonly Tool[];
  /** Starts what the next calls may need, to use the time while the model answers. */
  prepare(): void;
}

export async function openToolbox(
  { endpoint, codeMode }: { endpoint: Endpoint | null; codeMode: AgentRequest['codeMode'] },
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Toolbox> {
  const listing = endpoint === null ? [] : endpointTools(endpoint, signal);
  if (codeMode === null) return { tools: await listing, prepare() {}, async [Symbol.asyncDispose]() {} };
  // Loaded only for code mode.
  const [tools, sandbox, { createCodeRunner }] = await Promise.all([
    listing,
    requireSandbox(env),
    import('../code-mode/code-runner.ts'),
  ]);
  const { excludedTools, ...limits } = codeMode;
  const isExcluded = ({ name }: PlainTool) => excludedTools.includes(name);
  const runner = createCodeRunner({
    limits,
    sandbox,
    tools: tools
      .filter(tool => !isExcluded(tool))
      .map(tool => ({ ...tool, call: (args, signal) => valueFrom(tool, args, signal) })),
  });
  return {
    tools: [programTool(runner), ...tools.filter(isExcluded)],
    prepare: () => void runner.prepare(),
    [Symbol.asyncDispose]: () => runner.close(),
  };
}

async function requireSandbox(env: NodeJS.ProcessEnv): Promise<Sandbox> {
  const { findSandbox } = await import('../code-mode/find-sandbox.ts');
  const sandbox = await findSandbox(env);
  if ('missing' in sandbox)
    throw new AgentError('SANDBOX_MISSING', [sandbox.missing, ...sandbox.suggestions].join(' '));
  return sandbox;
}
