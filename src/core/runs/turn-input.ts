import type { Run } from '../../schema/run.ts';
import type { DriverStart, RunEndpoint, TurnFiles, TurnInput } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';
import type { RunMaterial } from './live-run.ts';

export function turnInput(
  run: Run,
  { prompt, promptFile, env }: RunMaterial,
  endpoint: RunEndpoint | null,
  files: TurnFiles,
): TurnInput {
  return {
    runId: run.id,
    roleId: run.roleId ?? '',
    task: run.task,
    prompt,
    promptFile,
    cwd: run.directory,
    worktree: run.worktree,
    model: run.model,
    chatId: run.chatId,
    continues: continuesChat(run),
    env,
    options: { ...run.options, budgetUsd: budgetLeft(run) },
    timeoutMs: run.timeoutMs,
    endpoint,
    files,
  };
}

/** Facts for the driver of a turn that an earlier hub started. The first lines of the turn are already written. */
export async function driverStart(
  run: Run,
  turn: TurnRef,
  files: Pick<RunFiles, 'read'>,
): Promise<DriverStart> {
  const { chatId, model, options, directory: cwd } = run;
  const prompt = (await files.read(turn, 'prompt.md')) ?? run.task;
  return { prompt, cwd, model, chatId, continues: continuesChat(run), options, endpoint: null };
}

/** True if the chat of the run already exists before the run's next turn. */
export const continuesChat = ({ chatIsNew, chatId, turn, options }: Run): boolean =>
  !chatIsNew || (turn > options.attempt.turn && chatId !== null);

/**
 * Budget that remains for the next turn, because an engine that enforces a budget itself starts at 0 with each turn.
 */
function budgetLeft({ options: { budgetUsd }, usage, turn }: Run): number | null {
  if (budgetUsd === null || turn === 1) return budgetUsd;
  return Math.max(SMALLEST_BUDGET, budgetUsd - (usage?.costUsd ?? 0));
}

const SMALLEST_BUDGET = 0.01;

/**
 * Files of a turn. A run without a chat gets a chat folder under its own id, because an engine may need a home
 * folder.
 */
export function turnFiles(files: RunFiles, turn: TurnRef, { engine, chatId, id }: Run): TurnFiles {
  const chat = chatId ?? id;
  return {
    path: name => files.path(turn, name),
    write: (name, content) => files.write(turn, name, content),
    chatFolder: files.chatFolder(engine, chat),
    writeInChat: (name, content) => files.writeInChat(engine, chat, name, content),
  };
}

/** Files of a dry run: only paths, nothing is written. */
export function dryRunFiles(
  files: RunFiles,
  { engine, chatId, id }: Pick<Run, 'engine' | 'chatId' | 'id'>,
): TurnFiles {
  const chatFolder = files.chatFolder(engine, chatId ?? id);
  return {
    path: name => `/${name}`,
    write: async name => `/${name}`,
    chatFolder,
    writeInChat: async name => `${chatFolder}/${name}`,
  };
}
