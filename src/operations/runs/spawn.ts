import { z } from 'zod';
import type { RunRequest } from '../../core/runs/run-request.ts';
import { isEnd, Permission, RunStatus } from '../../schema/run.ts';
import { SandboxLevel } from '../../schema/sandbox.ts';
import { Isolation } from '../../schema/worktree.ts';
import { reportFailure } from '../dispatch.ts';
import { type Call, operation, type Tool } from '../operation.ts';
import { RunResult, runResult } from './run-result.ts';
import { startMembers } from './start-runs.ts';
import { waitForEndsOrAsks } from './wait.ts';

/** Starts one run and, unless `async` is set, waits for it. */
export async function spawnOne(
  call: Call,
  request: RunRequest,
  { async: isAsync = false }: { async?: boolean },
): Promise<RunResult> {
  const { runs, warnings } = await startMembers(call, { members: [request] });
  const { run } = runs[0]!;
  await waitForEndsOrAsks(call, [run], isAsync ? 0 : call.waitMs);
  reportFailure(call, [run]);
  return runResult(call.services, run, { ...call, warnings });
}

/** Fields that all tools for starting one run share. */
export const SPAWN_TOOL = {
  readOnly: false,
  task: (answer: unknown, input: unknown) => {
    const { spawn_id: id, status: now } = answer as RunResult;
    return { id, isOpen: !isEnd(RunStatus.parse(now)) && !isAsync(input) };
  },
} satisfies Partial<Tool>;

/** Whether the caller does not wait. Such a caller gets the run's id, so it needs no MCP task. */
export const isAsync = (input: unknown): boolean => (input as { async?: unknown } | null)?.async === true;

const MIN_S = 30;
const MAX_S = 1800;
/** Maximum length of a name of a run or engine. Names are part of results and listings. */
const MAX_NAME_LENGTH = 200;
const TIME = `a run may take ${MIN_S} to ${MAX_S} seconds`;

const timeout = z.int().min(MIN_S, TIME).max(MAX_S, TIME).describe('Seconds');
// Lengths are checked here and not in the JSON schema, because every byte of the schema costs every client context.
const atMost = (most: number) => z.string().refine(text => text.length <= most, `at most ${most} characters`);
const name = atMost(MAX_NAME_LENGTH).min(1);
const names = z.array(name);

/** Options that all spawn tools share. */
const common = {
  prompt: z.string(),
  model: name.optional(),
  tools: names.optional(),
  timeout: timeout.optional(),
  task_summary: atMost(MAX_NAME_LENGTH).optional().describe('One line for listings'),
  include_context: z.boolean().optional().describe("Add the project's documents (default: true)"),
  structured_output: z.string().min(1).optional().describe('Path of a JSON Schema for the answer'),
  permission: Permission.optional(),
  isolation: Isolation.optional(),
  sandbox: SandboxLevel.optional(),
  async: z.boolean().optional().describe('Return at once; get_result has the rest'),
  notify_on_complete: z.boolean().optional(),
  max_cost_usd: z.number().positive('a budget is more than 0; leave it out for none').optional(),
  abort_on_budget_exceeded: z.boolean().optional(),
};

const SpawnClaude = z.strictObject({
  ...common,
  model: name.default('sonnet'),
  tools: names.default(['Bash', 'Read', 'Glob', 'Grep']),
  timeout: timeout.default(300),
});

const SpawnCodex = z.strictObject({
  ...common,
  working_directory: z.string().optional(),
  tools: names.default(['Bash', 'Read']),
  timeout: timeout.default(120),
});

/** Options that the tool of one agent CLI shows in its schema. `spawn_agent` shows all options. */
const OFTEN_USED = {
  prompt: true,
  model: true,
  tools: true,
  timeout: true,
  permission: true,
  async: true,
} as const;

const agent = {
  ...common,
  engine: name.optional(),
  roleId: atMost(MAX_NAME_LENGTH).optional(),
  working_directory: z.string().optional(),
  effort: name.optional(),
};
const StatelessAgent = z.strictObject(agent);
export const StatefulAgent = z.strictObject({
  ...agent,
  chatId: z.string().min(1).optional().describe('Chat to continue; none: a new one'),
});

/** The most used options, for tools whose schema has no space for all options. */
export const CommonOptions = StatelessAgent.pick({
  prompt: true,
  roleId: true,
  engine: true,
  model: true,
  permission: true,
  isolation: true,
  sandbox: true,
  working_directory: true,
  timeout: true,
});

type Asked = Partial<z.infer<typeof StatefulAgent>> & { prompt: string };

/** Missing options are taken from the role, then from the configuration. */
export function runRequest(asked: Asked): RunRequest {
  return {
    form: 'spawn',
    task: asked.prompt,
    roleId: asked.roleId,
    title: asked.task_summary,
    cwd: asked.working_directory,
    chatId: asked.chatId,
    engine: asked.engine,
    model: asked.model,
    effort: asked.effort,
    tools: asked.tools,
    permission: asked.permission,
    isolation: asked.isolation,
    sandbox: asked.sandbox,
    timeoutMs: asked.timeout === undefined ? undefined : asked.timeout * 1000,
    budgetUsd: asked.max_cost_usd,
    stopAtBudget: asked.abort_on_budget_exceeded,
    outputSchema: asked.structured_output,
    context: asked.include_context,
    notify: asked.notify_on_complete ?? asked.async,
  };
}

export const spawnAgent = operation({
  name: 'spawn_agent',
  route: 'POST /tools/spawn_agent',
  agents: 'spawn',
  tool: {
    title: 'Spawn agent',
    description:
      'Run an agent on a prompt, with project context, and wait. engine: claude, codex, gemini, opencode, copilot, qwen, cursor or one of your own; none is the configured one.',
    ...SPAWN_TOOL,
    statelessInput: StatelessAgent,
  },
  input: StatefulAgent,
  output: RunResult,
  run: (call, input) => spawnOne(call, runRequest(input), input),
});

export const spawnClaude = operation({
  name: 'spawn_claude',
  route: 'POST /tools/spawn_claude',
  agents: 'spawn',
  tool: {
    title: 'Spawn Claude',
    description:
      'Run Claude Code on a prompt, with project context, and wait: analysis, research, code. Further options as in spawn_agent.',
    needs: 'claude',
    listedInput: SpawnClaude.pick(OFTEN_USED).loose(),
    ...SPAWN_TOOL,
  },
  input: SpawnClaude,
  output: RunResult,
  run: (call, input) => spawnOne(call, { ...runRequest(input), engine: 'claude' }, input),
});

export const spawnCodex = operation({
  name: 'spawn_codex',
  route: 'POST /tools/spawn_codex',
  agents: 'spawn',
  tool: {
    title: 'Spawn Codex',
    description:
      'Run Codex on a prompt, with project context, and wait: tests, builds, scripts. Further options as in spawn_agent.',
    needs: 'codex',
    listedInput: SpawnCodex.pick(OFTEN_USED).loose(),
    ...SPAWN_TOOL,
  },
  input: SpawnCodex,
  output: RunResult,
  run: (call, input) => spawnOne(call, { ...runRequest(input), engine: 'codex' }, input),
});
