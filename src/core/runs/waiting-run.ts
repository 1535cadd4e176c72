import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run, RunError } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Change, Store } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { buildPrompt, extendPrompt } from '../roles/prompt.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import type { RunLedger } from './run-ledger.ts';
import { nextStatus } from './run-state.ts';

type TurnPromptFiles = Pick<RunFiles, 'read' | 'prepare' | 'environment'>;

/** Saves the prompt of the next turn. An engine without chats gets everything once more. */
export async function prepareNextTurn(run: Run, text: string, files: TurnPromptFiles): Promise<RunMaterial> {
  const prompt =
    run.chatId === null
      ? extendPrompt((await files.read({ runId: run.id, number: 1 }, 'prompt.md')) ?? run.task, text)
      : buildPrompt({ roleBody: '', task: text, mode: 'continued' });
  const { promptFile } = await files.prepare({ runId: run.id, number: run.turn + 1 }, prompt);
  return { prompt, promptFile, env: await files.environment(run.id) };
}

/** The run waits for a review as soon as `write` is done. Throws REVIEW_OVER when it is too late for that. */
export async function beginWaiting<T>(
  entry: LiveRun | undefined,
  id: RunId,
  write: (row: Run) => Promise<T>,
): Promise<T> {
  if (!entry || entry.isEnding || entry.stop !== null || entry.changing || entry.run.status !== 'running')
    throw new SquadError(
      'REVIEW_OVER',
      `Run ${id} is ${entry?.run.status ?? 'over'} and can no longer ask for a review`,
    );
  return changing(entry, async () => {
    const status = nextStatus(entry.run.status, 'await_review');
    const written = await write({ ...entry.run, status });
    entry.run.status = status;
    return written;
  });
}

/** Records the end of the turn. The run has no process, no slot and no token until the next turn. */
export async function writePause(
  entry: LiveRun,
  error: RunError | null,
  end: TurnEnd,
  ledger: RunLedger,
): Promise<void> {
  const { run, turn, report, chatTotals } = entry;
  if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
  if (error) run.notes.push(`Turn ${run.turn} ended while the run waited for its review: ${error.message}`);
  run.notes.push(...report.usageNotes(chatTotals));
  await ledger.paused(entry, end, entry.totalsOfChat);
  entry.pause();
}

/** Saves and commits the next turn. False while the last turn is still running. */
export async function queueNextTurn(
  entry: LiveRun | undefined,
  id: RunId,
  { text, change }: { text: string; change: Change },
  { files, store }: { files: RunFiles; store: Store },
  ledger: RunLedger,
): Promise<boolean> {
  if (entry?.run.status !== 'waiting_review')
    throw new SquadError(
      'REVIEW_OVER',
      `Run ${id} is not waiting for a review (status: ${entry?.run.status ?? 'ended'})`,
    );
  if (!entry.isPaused || entry.changing || entry.stop !== null) return false;
  return changing(entry, async () => {
    const { run } = entry;
    const material = await prepareNextTurn(run, text, files);
    if (entry.stop !== null) return false;
    const next = { ...run, status: nextStatus(run.status, 'resume'), turn: run.turn + 1 };
    const { roleId, engine } = run;
    const queued = ledger.event(run, { type: 'run.queued', roleId, engine, turn: next.turn });
    await store.commit({ ...change, runs: [next], events: [...change.events, queued] });
    Object.assign(run, next);
    entry.material = material;
    return true;
  });
}

/** Only one change at a time is written about a run. */
async function changing<T>(entry: LiveRun, write: () => Promise<T>): Promise<T> {
  const writing = write();
  entry.changing = writing.then(
    () => {},
    () => {},
  );
  try {
    return await writing;
  } finally {
    entry.changing = null;
  }
}
