import { z } from 'zod';
import { EngineSpec } from '../../schema/engine-spec.ts';
import { JsonSchema, Permission, type Run } from '../../schema/run.ts';
import { Isolation } from '../../schema/worktree.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';
import { parseJson } from '../text.ts';
import type { RunRequest } from './run-request.ts';

export const PLAN_FILE = 'plan.json';

/** What a caller said beyond what the run itself records. What it left out is not here, so that a retry asks the role again. */
const KeptRequest = z.object({
  form: z.enum(['member', 'spawn']).optional(),
  engine: z.string().optional(),
  isolation: Isolation.optional(),
  model: z.string().optional(),
  effort: z.string().nullable().optional(),
  tools: z.array(z.string()).nullable().optional(),
  permission: Permission.optional(),
  timeoutMs: z.number().optional(),
  stallMs: z.number().nullable().optional(),
  budgetUsd: z.number().nullable().optional(),
  stopAtBudget: z.boolean().optional(),
  outputSchema: z.union([z.string(), JsonSchema]).nullable().optional(),
  context: z.union([z.boolean(), z.array(z.string())]).optional(),
});

const KeptPlan = z.object({ engine: EngineSpec, request: KeptRequest });

/** What it takes to build a run's engine again, and to ask for the same once more: whatever the configuration says by then. */
export async function keepPlan(
  files: RunFiles,
  turn: TurnRef,
  engine: EngineSpec,
  request: RunRequest,
): Promise<void> {
  const plan: z.infer<typeof KeptPlan> = { engine, request: KeptRequest.parse(request) };
  await files.write(turn, PLAN_FILE, JSON.stringify(plan));
}

/** The engine as it was, and the request; null when they cannot be read any more. */
export async function keptPlan(
  files: RunFiles,
  run: Run,
): Promise<{ spec: EngineSpec; request: RunRequest } | null> {
  const text = await files.read({ runId: run.id, number: 1 }, PLAN_FILE);
  const kept = KeptPlan.safeParse(text === null ? null : parseJson(text));
  if (!kept.success) return null;
  const request = {
    ...kept.data.request,
    ...(kept.data.engine.kind === 'native' &&
      kept.data.engine.subagent && { subagent: kept.data.engine.subagent }),
    ...(run.roleId !== null && { roleId: run.roleId }),
    ...(run.title !== null && { title: run.title }),
    task: run.task,
    cwd: run.cwd,
    stateMode: run.stateMode,
    lineageId: run.lineageId,
  };
  return { spec: kept.data.engine, request };
}
