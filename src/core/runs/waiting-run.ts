import { SquadError } from '../../schema/error.ts';
import type { NewEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run, RunError } from '../../schema/run.ts';
import type { Machines } from '../ports/machines.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Change, Store } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { buildPrompt, extendPrompt } from '../roles/prompt.ts';
import { truncate } from '../text.ts';
import { policyFor } from './engine-policy.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import type { Outcome } from './outcome.ts';
import type { RunLedger } from './run-ledger.ts';
import { nextStatus } from './run-state.ts';
import { continuesChat } from './turn-input.ts';

type TurnPromptFiles = Pick<RunFiles, 'read' | 'prepare' | 'environment'>;

/** Saves the prompt of the next turn. An engine without chats gets all previous text again. */
export async function prepareNextTurn(run: Run, text: string, files: TurnPromptFiles): Promise<RunMaterial> {
  const prompt =
    run.chatId === null
      ? extendPrompt((await files.read({ runId: run.id, number: 1 }, 'prompt.md')) ?? run.task, text)
      : buildPrompt({ roleBody: '', task: text, mode: 'continued' });
  const { promptFile } = await files.prepare({ runId: run.id, number: run.turn + 1 }, prompt);
  return { prompt, promptFile, env: await files.environment(run.id) };
}

/** Makes the run wait for a review as soon as `write` is done. Throws REVIEW_OVER when it is too late for that. */
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

/** Records the end of the turn. The run has no process, slot or token until the next turn. */
export async function writePause(
  entry: LiveRun,
  error: RunError | null,
  end: TurnEnd,
  ledger: RunLedger,
  step?: 'await_children' | 'await_limit',
  events: NewEvent[] = [],
): Promise<void> {
  const { run, turn, report, chatTotals } = entry;
  if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
  if (error) run.notes.push(`Turn ${run.turn} ended while the run waited for its review: ${error.message}`);
  run.notes.push(...report.usageNotes(chatTotals));
  await ledger.paused(entry, end, entry.totalsOfChat, step, events);
  entry.pause();
}

export function requireReview(entry: LiveRun | undefined, id: RunId): LiveRun {
  if (entry?.run.status === 'waiting_review') return entry;
  throw new SquadError(
    'REVIEW_OVER',
    `Run ${id} is not waiting for a review (status: ${entry?.run.status ?? 'ended'})`,
  );
}

/**
 * Saves and commits the next turn of a run that waits. `begin` returns its text, and what is committed with it. False
 * while the last turn is still running, or if `begin` returns null.
 */
export async function queueNextTurn(
  entry: LiveRun,
  begin: () => Promise<{ text: string; change: Change } | null>,
  { files, store }: { files: RunFiles; store: Store },
  ledger: RunLedger,
): Promise<boolean> {
  if (!entry.isPaused || entry.changing || entry.stop !== null) return false;
  return changing(entry, async () => {
    const { run } = entry;
    const { text, change } = (await begin()) ?? { text: null, change: null };
    if (text === null) return false;
    const material = await prepareNextTurn(run, text, files);
    if (entry.stop !== null) return false;
    const { limit } = run.options;
    const options = limit ? { ...run.options, limit: { ...limit, until: null } } : run.options;
    const next = { ...run, options, status: nextStatus(run.status, 'resume'), turn: run.turn + 1 };
    const { roleId, engine } = run;
    const queued = ledger.event(run, { type: 'run.queued', roleId, engine, turn: next.turn });
    await store.commit({ ...change, runs: [next], events: [...change.events, queued] });
    Object.assign(run, next);
    entry.material = material;
    return true;
  });
}

const MAX_ATTEMPTS = 3;

/**
 * Returns the run for its next attempt after its agent was lost with its machine or hub. The next machine is chosen in
 * the same way as the lost one. Null if the run cannot start again: an earlier turn left a chat on the lost machine, or the
 * run has used all attempts.
 */
export function nextAttempt(run: Run, machines: Pick<Machines, 'choose'>): Run | null {
  const { options, chatIsNew, chatId, turn } = run;
  const { attempt, takeover, placedBy } = options;
  if (!takeover || attempt.number >= MAX_ATTEMPTS) return null;
  if (!chatIsNew || (turn > attempt.turn && chatId !== null)) return null;
  let machine: string | null | undefined = null;
  try {
    if (placedBy !== null) machine = machines.choose(placedBy)?.name;
  } catch {
    return null; // no machine is available for the run
  }
  if (machine === undefined) return null;
  const next = { number: attempt.number + 1, turn: turn + 1 };
  return {
    ...run,
    status: nextStatus(run.status, 'start_again'),
    turn: turn + 1,
    tokenHash: null,
    options: { ...options, machine, attempt: next },
  };
}

/**
 * Returns the run for another attempt after its engine failed before the agent got the prompt: with an agent that only
 * reads its prompt. If the hub that started the agent died meanwhile, the agent is started as before, because engines
 * connect to the hub while they start. Null if the prompt may have reached the agent, or if the failure would repeat
 * itself.
 */
export function secondStart(
  { run, engine, twoWay, stop, material }: LiveRun,
  { error }: Outcome,
): Run | null {
  const { options, turn } = run;
  if (!twoWay || twoWay.hasBegun || stop !== null || error?.code !== 'ENGINE_FAILED') return null;
  const hubDied = material === null;
  if (!hubDied && (engine.isAlwaysFed || options.promptOnly)) return null;
  const attempt = continuesChat(run) ? options.attempt : { ...options.attempt, turn: turn + 1 };
  const next = { ...options, attempt, promptOnly: !hubDied };
  return {
    ...run,
    status: nextStatus(run.status, 'start_again'),
    turn: turn + 1,
    tokenHash: null,
    options: next,
    policy: policyFor(engine, next),
    notes: [...run.notes, hubDied ? startedAgain(run, error.message) : fallback(run, error.message)],
  };
}

const fallback = ({ engine, turn }: Run, why: string): string =>
  `${engine} could not be started as an agent that reads lines (${truncate(why, 300)}), so turn ${turn + 1} started it with only its prompt: it cannot be asked, told or interrupted.`;

const startedAgain = ({ engine, turn }: Run, why: string): string =>
  `${engine} could not start while the hub was restarted (${truncate(why, 300)}), so turn ${turn + 1} started it again.`;

/** Note about an attempt that was lost with its machine or hub. */
export function lostAttempt(run: Run, next: Run, end: TurnEnd): string {
  const [from, to] = [run.options.machine, next.options.machine];
  const number = next.options.attempt.number;
  const lost = `Attempt ${number - 1}${from === null ? '' : ` on ${from}`} was lost: ${end.lost ?? 'its process is gone.'}`;
  return to === null
    ? `${lost} Attempt ${number} started in the same work tree, with what the lost attempt had left there.`
    : `${lost} Attempt ${number} started on ${to}, from the state of the branch before it.`;
}

/** Records the end of the failed attempt and the start of the next attempt in one transaction. */
export async function writeNextAttempt(
  entry: LiveRun,
  next: Run,
  end: TurnEnd,
  files: RunFiles,
  ledger: RunLedger,
): Promise<void> {
  const { run, turn, engine } = entry;
  const before = { runId: run.id, number: run.turn };
  const prompt = (await files.read(before, 'prompt.md')) ?? run.task;
  const { promptFile } = await files.prepare({ ...before, number: next.turn }, prompt);
  const env = await files.environment(run.id);
  if (turn) Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
  // Otherwise the next attempt needs a new chat, because the chat of a lost attempt is on the lost machine.
  const newChat = engine.newChat?.kind === 'minted' ? engine.newChat.mint(next.options) : null;
  await ledger.startedAgain(entry, { ...next, chatId: continuesChat(next) ? run.chatId : newChat });
  entry.pause();
  entry.chats.clear();
  if (run.chatId !== null) entry.chats.add(run.chatId);
  entry.material = { prompt, promptFile, env };
}

/** Runs changes of a run one at a time. */
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
