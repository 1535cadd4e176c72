import { z } from 'zod';
import type { Caller, Workspace } from '../../core/ports/workspace.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { chatBusy } from '../../core/runs/plan-run.ts';
import type { SquadRequest } from '../../core/runs/run-request.ts';
import { checkTask } from '../../core/text.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { LOCAL } from '../../schema/machines/machine.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { findRun } from './find-runs.ts';
import { Started, started, startRuns } from './start-runs.ts';

/**
 * Opens the workspace of an earlier run. The caller did not choose this folder, so an error must not ask for another
 * one.
 */
export async function workspaceOfRun(
  { workspaces }: Pick<Services, 'workspaces'>,
  caller: Caller,
  folder: string,
): Promise<Workspace> {
  return workspaces.open({ ...caller, workspace: folder }).catch(thrown => {
    const error = asSquadError(thrown);
    if (error.code !== 'WORKSPACE_REFUSED') throw error;
    throw new SquadError(
      error.code,
      `The workspace of that run is gone or cannot be used any more: ${folder}.`,
      {
        suggestions: ['Put the folder back, or start the task again in another one with `squad run`.'],
        cause: thrown,
      },
    );
  });
}

/**
 * Refuses a reply to a reviewer: without its review, the reviewer would work for nobody, and in the user's own folder.
 */
export function refuseReviewer({ id, reviewOf }: Run): void {
  if (reviewOf === null) return;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${id} is a reviewer of ${reviewOf}, so it can be neither continued nor retried`,
    {
      suggestions: [
        `\`squad review ${shellWord(reviewOf)}\` shows that review. The next one begins when ${reviewOf} asks for it.`,
        `To tell ${reviewOf} something yourself: \`squad review ${shellWord(reviewOf)} --feedback TEXT\` while it waits, \`squad reply ${shellWord(reviewOf)} TEXT\` when it has ended.`,
      ],
    },
  );
}

/** Starts a new run on the chat of an ended one, with the same role, folder, engine, model and limits. */
export const replyToRun = operation({
  name: 'reply_to_run',
  route: 'POST /runs/{run}/reply',
  agents: 'spawn',
  input: z.strictObject({ run: z.string(), text: z.string() }),
  output: Started,
  async run(call, { run: given, text }) {
    checkTask(text);
    const { asked, workspace } = await replyTo(call, await findRun(call.services, given), text);
    return started(await startRuns(call, asked, workspace));
  },
});

/** Creates the request for a reply. Throws if a reply is not possible. */
export async function replyTo(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  run: Run,
  text: string,
): Promise<{ asked: SquadRequest; workspace: Workspace }> {
  refuseReviewer(run);
  if (!isEnd(run.status)) throw stillRunning(run);
  const kept = await loadPlan(services.files, run);
  if (kept === null) throw planLost(run);
  const { spec } = kept;
  if (run.chatId === null || run.startedAt === null) throw noChat(run, spec, services);
  await checkProgram(services, run, spec, caller.env);
  refuseBusyChat(services, run.chatId);
  const { tools, permission, effort, stallMs, budgetUsd, stopAtBudget, outputSchema } = run.options;
  const request = {
    ...kept.request,
    ...{ tools, permission, effort, stallMs, budgetUsd, stopAtBudget, outputSchema },
    title: undefined,
    forksChat: undefined,
    task: text,
    timeoutMs: run.timeoutMs,
    chatId: run.chatId,
    takesUp: { runId: run.id, by: 'reply' as const },
    keeps: run.options.sandbox,
    spec,
    machine: run.options.machine ?? LOCAL,
    place: { directory: run.directory, worktree: run.worktree },
  };
  const workspace = await workspaceOfRun(services, caller, run.workspace);
  return { asked: { members: [request] }, workspace };
}

/** Throws if a live run uses the chat. The runner would refuse the reply too, but only after everything was planned. */
export function refuseBusyChat({ runner }: Pick<Services, 'runner'>, chatId: string): void {
  const holder = runner.liveRuns().find(run => run.chatId === chatId && !isEnd(run.status));
  if (holder) throw chatBusy(chatId, `run ${holder.id}`);
}

const stillRunning = ({ id, status }: Run): SquadError =>
  new SquadError('CHAT_BUSY', `Run ${id} is still ${status}: its chat is in use`, {
    suggestions: [
      `Wait for it (\`squad wait ${shellWord(id)}\`) or stop it (\`squad cancel ${shellWord(id)}\`) first.`,
    ],
  });

/** Error for a run whose plan cannot be read, because its files are gone or damaged. */
export const planLost = ({ id }: Run): SquadError =>
  new SquadError('LOST', `The plan of run ${id} cannot be read any more`, {
    suggestions: [
      `Its folder was removed or changed. \`squad show ${shellWord(id)}\` has its task: start it again with \`squad run\`.`,
    ],
  });

function noChat(run: Run, spec: EngineSpec, { engines }: Services): SquadError {
  const { id, startedAt, stateMode } = run;
  const { newChat, id: engine } = engines.create(spec);
  const [why, next] =
    newChat === null
      ? [
          `the ${engine} engine keeps no chats`,
          'For future runs, set CREATE_CHAT_TEMPLATE and STATE_MODE=stateful.',
        ]
      : startedAt === null
        ? ['it never started', `\`squad retry ${shellWord(id)}\` starts it.`]
        : newChat.kind === 'command' && stateMode === 'stateless'
          ? ['it ran with STATE_MODE=stateless', 'For future runs, set STATE_MODE=stateful.']
          : [
              `it ended before ${engine} reported one`,
              `\`squad retry ${shellWord(id)}\` starts the task again.`,
            ];
  return new SquadError('CHAT_UNKNOWN', `Run ${id} has no chat to continue: ${why}`, {
    suggestions: [next],
  });
}

/**
 * Checks that the engine's program exists and is not too old. A chat belongs to one engine, so no other can be used.
 */
export async function checkProgram(
  { engines, machines }: Pick<Services, 'engines' | 'machines'>,
  { id, options }: Run,
  spec: EngineSpec,
  env: Record<string, string>,
): Promise<void> {
  await engines.refresh(spec, env, machines.clis(options.machine)).catch(thrown => {
    const error = asSquadError(thrown);
    if (error.code !== 'ENGINE_NOT_FOUND' || spec.kind !== 'cli') throw error;
    throw new SquadError(
      error.code,
      `The chat of run ${id} belongs to ${spec.program}, which is no longer installed`,
      {
        suggestions: [
          `Install it again, or start the task again in a new chat: \`squad retry ${shellWord(id)}\`.`,
        ],
      },
    );
  });
}
