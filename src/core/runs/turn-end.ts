import type { HubSettings } from '../../schema/config.ts';
import { asSquadError } from '../../schema/error.ts';
import type { Evidence } from '../../schema/evidence.ts';
import type { Run, RunError, StopReason } from '../../schema/run.ts';
import type { Traces } from '../conversations/recorder.ts';
import { describeOverspend, overBudget, type Spending } from '../cost/budget.ts';
import { type Ending, type EvidencePorts, gatherEvidence } from '../evidence/evidence.ts';
import { structuredAnswer } from '../output/structured-answer.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { wallTimeOf } from './admission.ts';
import type { LiveRun, RunListener } from './live-run.ts';
import { judge, type Outcome, stopInForce } from './outcome.ts';
import { type LedgerPorts, RETRY_MS, type RunLedger } from './run-ledger.ts';
import { outputSize } from './turn-limits.ts';
import { chatEnvironment } from './turn-sandbox.ts';

export interface TurnEndPorts extends LedgerPorts {
  settings(): HubSettings;
  traces: Pick<Traces, 'take' | 'turnOver'>;
}

const READ_TRIES = 5;
/** Limit for reading a file. An agent can write without end, and the last part shows how the turn ended. */
const MAX_FILE_BYTES = 64 * 1024;
/** Size limit of a structured answer. */
const MAX_STRUCTURED_LENGTH = 4 * 1024 * 1024;
/** Listener that ignores activity. It is used to read output again only for messages and for the end of the turn. */
export const messagesOnly = (entry: LiveRun, { traces }: Pick<TurnEndPorts, 'traces'>): RunListener => ({
  activity: () => {},
  usage: () => {},
  message: (message, place) => traces.take(entry.run, message, place),
  line: (line, isCut) => entry.twoWay?.read(line, isCut, null),
});

/** Reads the rest of the output and the engine's own files. Unreadable output must not keep a run from ending. */
export async function readFinalOutput(
  entry: LiveRun,
  { exitCode }: TurnEnd,
  ports: TurnEndPorts,
): Promise<void> {
  const { files, clock, warn } = ports;
  const { run } = entry;
  for (let tries = 0; tries < READ_TRIES; tries++) {
    try {
      await entry.drain();
      ports.traces.turnOver(run);
      break;
    } catch (thrown) {
      warn(`The output of ${run.id} could not be read`, thrown);
      await new Promise(wake => setTimeout(wake, RETRY_MS));
      entry.follow(files, clock, messagesOnly(entry, ports), Number.POSITIVE_INFINITY);
    }
  }
  entry.reportSkipped();
  const turn = { runId: run.id, number: entry.turnNumber };
  const events = await entry.report
    .finish(exitCode, name => files.readEnd(turn, name, MAX_FILE_BYTES))
    .catch(thrown => {
      warn(`The files that ${run.engine} wrote for ${run.id} could not be read`, thrown);
      return [];
    });
  for (const event of events) entry.learn(event);
  await nameChat(entry, ports);
  await markChat(entry, ports);
}

/**
 * Moves the files of a chat from a folder named after the run to a folder named after the chat, once the engine has
 * chosen the chat's id. The id comes from output that an agent can fake. With the id of another chat, the next turn
 * would mount the HOME of that chat.
 */
async function nameChat(entry: LiveRun, { files, warn }: TurnEndPorts): Promise<void> {
  const { run, chatBefore } = entry;
  if (run.chatId === null) return;
  const isSandboxed = run.options.sandbox.level !== 'off';
  const isOther = isSandboxed && run.chatId !== chatBefore && files.hasChatHome(run.engine, run.chatId);
  if (isOther && files.hasChatHome(run.engine, chatBefore ?? run.id)) {
    warn(`${run.id} reported the chat of another run as its own`, run.chatId);
    run.chatId = chatBefore;
  } else if (run.chatIsNew)
    await files
      .nameChat(run.engine, run.id, run.chatId)
      .catch(thrown =>
        warn(`The chat of ${run.id} cannot be continued: its folder could not be renamed`, thrown),
      );
}

/**
 * Stores the engine's mark of the chat. The next turn compares marks, to detect use of the chat outside Squad in
 * between.
 */
async function markChat(entry: LiveRun, { files, warn }: TurnEndPorts): Promise<void> {
  const { run, engine } = entry;
  if (!engine.chatMark || run.chatId === null) return;
  try {
    const env = entry.material?.env ?? (await files.environment(run.id));
    entry.chatMark = await engine.chatMark({
      chatId: run.chatId,
      env: chatEnvironment(run, env, files),
    });
  } catch (thrown) {
    entry.chatMark = null;
    warn(`The chat of ${run.id} could not be checked`, thrown);
  }
}

/** Decides how the turn ended and saves its answer. */
export async function closeTurn(
  entry: LiveRun,
  end: TurnEnd,
  ports: TurnEndPorts,
  ledger: RunLedger,
  /** False if the run certainly continues. The answer is then not the final one. */
  isFinal: boolean,
): Promise<Outcome> {
  const { run, turn, engine, report } = entry;
  const { clock } = ports;
  // The end of the turn is a file time, so it must be compared with times on the same clock.
  const askedAt = entry.stopAskedAt === null ? null : wallTimeOf(clock, entry.stopAskedAt);
  const wasIdle = entry.twoWay?.isIdle === true;
  const inForce = stopInForce(entry.stop, askedAt, end, report.end, wasIdle);
  entry.stop = inForce ?? (await overOutputLimit(entry, ports));
  if (turn) turn.stop = entry.stop;
  const outcome = judge({
    end,
    stop: entry.stop,
    deadlineAt: entry.deadlineNow(clock) ?? turn?.deadlineAt ?? Number.POSITIVE_INFINITY,
    events: engine.reader ? { end: report.end, retry: report.retry, linesDropped: entry.linesDropped } : null,
    wasIdle,
    timeoutMs: run.timeoutMs,
  });
  if (outcome.error === null) run.notes.push(...[...report.notes].filter(note => !run.notes.includes(note)));
  if (entry.overBudget) {
    if (outcome.error?.code === 'BUDGET_EXCEEDED') outcome.error.message = overBudget(entry.overBudget);
    else run.notes.push(describeOverspend(entry.overBudget, onlyWarns(entry.overBudget, run)));
  }
  if (entry.linesDropped > 0) run.notes.push(unreadLines(entry.linesDropped));
  // An earlier engine of the run may have left an answer.
  if (engine.reader || run.options.limit)
    await ledger.retry('an answer', () =>
      ports.files.saveAnswer(run.id, engine.reader ? report.answer : null),
    );
  // A run that waits for a review has not given its final answer yet.
  const isAnswer = outcome.step === 'complete' && run.status !== 'waiting_review' && isFinal;
  const mismatch = isAnswer ? await checkAnswer(entry, ports, ledger) : null;
  return mismatch ? { step: 'fail', error: mismatch } : outcome;
}

/** Output is measured once a second, so a turn can exceed the limit and end before that is noticed. */
async function overOutputLimit(
  { run, turnNumber }: LiveRun,
  { files, settings, warn }: TurnEndPorts,
): Promise<StopReason | null> {
  try {
    const size = await outputSize(files, { runId: run.id, number: turnNumber });
    return size > settings()['output.max_bytes'] ? 'output_limit' : null;
  } catch (thrown) {
    warn(`The output of ${run.id} could not be measured`, thrown);
    return null;
  }
}

const unreadLines = (count: number): string =>
  `${count === 1 ? 'A line' : `${count} lines`} of its output had more than 8 MiB and could not be read as an event: tool calls and usage in there are not counted. All of it is kept (\`squad log\`).`;

const onlyWarns = ({ scope }: Spending, { options }: Run): boolean =>
  scope === 'run' && !options.stopAtBudget;

/** Checks the answer against its schema. Saves a valid answer as a value, and returns the error of an invalid one. */
async function checkAnswer(
  { run, report, turnNumber }: LiveRun,
  { files }: TurnEndPorts,
  ledger: RunLedger,
): Promise<RunError | null> {
  const { outputSchema } = run.options;
  if (outputSchema === null) return null;
  const turn = { runId: run.id, number: turnNumber };
  const said = report.end?.answer ?? (await files.page(turn, 'stdout', 0, MAX_STRUCTURED_LENGTH)).text;
  const checked = await structuredAnswer(outputSchema, said, report.end?.structured);
  if ('error' in checked) return checked.error;
  await ledger.retry('a structured answer', () => files.saveStructured(run.id, checked.value));
  return null;
}

/** Gathers evidence. An error never keeps a run from ending: evidence that cannot be gathered is left out. */
export async function evidenceOfTurn(
  entry: LiveRun,
  ending: Ending,
  ports: TurnEndPorts & EvidencePorts,
): Promise<Evidence | null> {
  const { run } = entry;
  const note = await ports.collectCommits(run, ending.end).catch(thrown => {
    ports.warn(`The commits of ${run.id} could not be collected`, thrown);
    return asSquadError(thrown).message;
  });
  if (note !== null && !run.notes.includes(note)) run.notes.push(note);
  try {
    return await gatherEvidence(entry, ending, ports);
  } catch (thrown) {
    ports.warn(`The evidence of ${entry.run.id} could not be gathered`, thrown);
    return null;
  }
}
