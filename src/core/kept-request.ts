import { z } from 'zod';
import { JsonSchema, Permission, type Run } from '../schema/run.ts';
import type { RunFiles, TurnRef } from './ports.ts';
import type { RunRequest } from './run-request.ts';
import { parseJson } from './text.ts';

const FILE = 'request.json';

/** What a caller said beyond what the run itself records. What it left out is not here, so that a retry asks the role again. */
const KeptRequest = z.object({
  form: z.enum(['member', 'spawn']).optional(),
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

export async function keepRequest(files: RunFiles, turn: TurnRef, request: RunRequest): Promise<void> {
  await files.write(turn, FILE, JSON.stringify(KeptRequest.parse(request)));
}

/** The same request once more, without its engine; null when it cannot be read any more. */
export async function keptRequest(files: RunFiles, run: Run): Promise<RunRequest | null> {
  const text = await files.read({ runId: run.id, number: 1 }, FILE);
  const kept = KeptRequest.safeParse(text === null ? null : parseJson(text));
  if (!kept.success) return null;
  return {
    ...kept.data,
    ...(run.roleId !== null && { roleId: run.roleId }),
    ...(run.title !== null && { title: run.title }),
    task: run.task,
    cwd: run.cwd,
    stateMode: run.stateMode,
    lineageId: run.lineageId,
  };
}
