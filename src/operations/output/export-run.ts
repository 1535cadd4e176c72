import { z } from 'zod';
import { formatBytes } from '../../base/text.ts';
import type { OutputStream } from '../../core/ports/run-files.ts';
import { NATIVE } from '../../schema/conversation.ts';
import { SquadError } from '../../schema/error.ts';
import { Event } from '../../schema/event.ts';
import { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { getConversation } from '../conversations/conversations.ts';
import { diffRun } from '../evidence/diff-run.ts';
import { type Call, operation, type Services, type UserServices } from '../operation.ts';
import { diffReview, showReview } from '../review/show-review.ts';
import { findRun } from '../runs/find-runs.ts';
import { showRun } from '../runs/show-run.ts';
import { showSquad } from '../runs/show-squad.ts';
import { engineText, readerOf } from './read-output.ts';

/** A request of the web UI, and its result or error. */
const AnsweredQuestion = z.object({
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  answer: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string(), suggestions: z.array(z.string()) }).optional(),
});
type AnsweredQuestion = z.infer<typeof AnsweredQuestion>;

const MAX_MESSAGES = 500;
/** Limit for all rounds of a review together. The run's own diff has the limit of its operation. */
const MAX_IN_ROUNDS = 16 * 1024 * 1024;

/** The results of all requests that the web UI makes for a run and its squad. */
async function answersAbout(
  call: Call<UserServices>,
  { id, squadId, engine }: Run,
): Promise<{ answers: AnsweredQuestion[]; leftOut: string[] }> {
  const run = { run: id };
  const rounds = await showReview.run(call, run);
  const answers = await Promise.all([
    answered('show_run', run, async () => withoutCommands(await showRun.run(call, run))),
    answered('show_squad', { squad: squadId }, input => showSquad.run(call, input)),
    answered('diff_run', run, input => diffRun.run(call, { ...input, stat: false })),
    answered('show_review', run, async () => rounds),
  ]);
  const leftOut: string[] = [];
  if (engine === NATIVE) {
    const all = { after: 0, limit: MAX_MESSAGES, isWhole: true };
    const conversation = await getConversation.run(call, { ...run, ...all });
    answers.push({ name: 'get_conversation', input: run, answer: { ...conversation, next: null } });
    if (conversation.next !== null) leftOut.push(`messages after the first ${conversation.next}`);
  }
  let room = MAX_IN_ROUNDS;
  for (const { id: review, iteration } of rounds.reviews.toReversed()) {
    const one = await answered('diff_review', { review }, input => diffReview.run(call, input));
    room -= JSON.stringify(one).length;
    if (room >= 0) answers.push(one);
    else leftOut.push(`what changed in round ${iteration}`);
  }
  return { answers, leftOut };
}

async function answered<I extends Record<string, unknown>>(
  name: string,
  input: I,
  ask: (input: I) => Promise<unknown>,
): Promise<AnsweredQuestion> {
  try {
    return { name, input, answer: await ask(input) };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    const { code, message, suggestions } = thrown;
    return { name, input, error: { code, message, suggestions: [...suggestions] } };
  }
}

/** Removes commands of the user, which the web UI does not show either: readers of the file must not get them. */
function withoutCommands(shown: Awaited<ReturnType<typeof showRun.run>>) {
  return {
    ...shown,
    setting: { ...shown.setting, variables: null, command: null },
    run: { ...shown.run, options: { ...shown.run.options, onEnd: null, onAsk: null, setup: null } },
  };
}

/** The output of a turn, or only the end of it. */
const SavedOutput = z.object({
  turn: z.number(),
  stream: z.enum(['stdout', 'stderr']),
  text: z.string(),
  /** Number of the first line, from 1. Null if unknown, because the text begins far into the output. */
  firstLine: z.number().nullable(),
  /** Number of bytes of the output that were left out before the text. */
  leftOut: z.number(),
  /** Readable text of each line, if any. Null if the lines themselves are text. */
  words: z.array(z.string().nullable()).nullable(),
});
type SavedOutput = z.infer<typeof SavedOutput>;

const MAX_OF_ONE = 5 * 1024 * 1024;
const MAX_OF_ALL = 40 * 1024 * 1024;
const COUNT_MS = 2_000;

/** Reads the newest turn first: when there is no more room, older turns are left out. */
async function savedOutputs(
  services: Services,
  run: Run,
): Promise<{ outputs: SavedOutput[]; leftOut: string[] }> {
  const outputs: SavedOutput[] = [];
  const leftOut: string[] = [];
  let room = MAX_OF_ALL;
  for (let turn = run.turn; turn >= 1; turn--)
    for (const stream of ['stdout', 'stderr'] as const) {
      const output = await savedOutput(services, { run, turn, stream, room: Math.min(room, MAX_OF_ONE) });
      room -= Buffer.byteLength(output.text);
      outputs.push(output);
      if (output.leftOut > 0)
        leftOut.push(
          `${output.text === '' ? 'all' : 'the first'} ${formatBytes(output.leftOut)} of ${stream} of turn ${turn}`,
        );
    }
  return { outputs, leftOut };
}

interface Wanted {
  run: Run;
  turn: number;
  stream: OutputStream;
  room: number;
}

async function savedOutput(services: Services, { run, turn, stream, room }: Wanted): Promise<SavedOutput> {
  const { files } = services;
  const key = { runId: run.id, number: turn };
  if (room < 1)
    return { turn, stream, text: '', firstLine: null, leftOut: await files.size(key, stream), words: null };
  const { text, offset } = await files.page(key, stream, -room, room, true);
  const { line } = await files.lineAt(key, stream, offset, COUNT_MS);
  const reader = stream === 'stdout' ? await readerOf(services, run, turn) : null;
  return {
    ...{ turn, stream, text },
    firstLine: offset === 0 ? 1 : line,
    leftOut: offset,
    words: reader && lineTexts(text, engineText(reader())),
  };
}

/** One text for each complete line. */
const lineTexts = (text: string, textOf: (line: string) => string[]): (string | null)[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map(line => textOf(line).join('\n') || null);

const MAX_EVENTS = 20_000;

/**
 * Exports a run with everything that the web UI shows of it, limited in size, for an HTML file that works without a
 * hub.
 */
export const exportRun = operation({
  name: 'export_run',
  route: 'GET /runs/{run}/export',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run: RunId,
    title: z.string(),
    savedAt: z.number(),
    version: z.string(),
    answers: z.array(AnsweredQuestion),
    /** Events of the run, newest first. */
    events: z.array(Event),
    outputs: z.array(SavedOutput),
    /** Names of parts of the run that did not fit into the file. */
    leftOut: z.array(z.string()),
  }),
  async run(call, { run: given }) {
    const { services } = call;
    // A copy is used, because the run may end during the export.
    const run = { ...(await findRun(services, given)) };
    const [answers, outputs, events] = await Promise.all([
      answersAbout(call, run),
      savedOutputs(services, run),
      newestEvents(call, run),
    ]);
    return {
      run: run.id,
      title: run.title ?? run.task,
      savedAt: services.clock.now(),
      version: services.hub.status().version,
      answers: answers.answers,
      events: events.slice(0, MAX_EVENTS),
      outputs: outputs.outputs,
      leftOut: [
        ...(events.length > MAX_EVENTS ? [`events before the last ${MAX_EVENTS.toLocaleString('en')}`] : []),
        ...outputs.leftOut,
        ...answers.leftOut,
      ],
    };
  },
});

const newestEvents = ({ services }: Call, { id }: Run) =>
  services.store.events({ runId: id, limit: MAX_EVENTS + 1, reverse: true });
