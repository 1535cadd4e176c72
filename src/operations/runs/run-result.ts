import { z } from 'zod';
import {
  type Cut,
  EMPTY,
  firstThatFit,
  fitItems,
  jsonLength,
  leastLength,
  longestStart,
  type Sample,
  type TextItem,
} from '../../core/output/digest.ts';
import type { RunFiles } from '../../core/ports/run-files.ts';
import { type SquadStatus, squadStatus } from '../../core/runs/run-state.ts';
import { total, turnSizes } from '../../core/runs/turn-limits.ts';
import { CommitMade, Verdict } from '../../schema/evidence.ts';
import { isEnd, type Run, type Turn } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { SandboxLevel } from '../../schema/sandbox.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { askNotes, openQuestionsOf, ShownAsk } from '../inbox/open-questions.ts';
import type { Call, Services } from '../operation.ts';
import { fitNotes, loginHint, notesOfRun, runError } from './run-notes.ts';
import { workNotes } from './run-work.ts';
import { latestActivity } from './status-text.ts';
import { waitingCall, waitingFor } from './wait.ts';

/** Limit for the whole result of a call, in characters of JSON: every tested client passes this on uncut. */
export const RESULT_LIMIT = 12_000;
/** Number of bytes to read from each end of an output; more could not be shown. */
const SAMPLE_BYTES = RESULT_LIMIT;
/** Characters reserved for the note that there are more members. */
const MORE_LENGTH = 160;
const MAX_ERROR_LENGTH = 500;
const MAX_NOTE = 400;

/** Hint that says how to read a whole text. It is used if the texts were cut too short to contain it. */
export const READ_ON =
  'get_result {"spawn_id"} has all of one; with stream and offset it reads on in a cut text.';

export const MemberResult = z.object({
  memberId: z.string(),
  roleId: z.string(),
  cwd: z.string(),
  status: z.string(),
  engine: z.string(),
  rawStdout: z.string(),
  rawStderr: z.string(),
  /** Short form; `get_result` of the member has all evidence. */
  evidence: z
    .object({ verdict: z.string(), files_changed: z.number().nullable(), tool_calls: z.number().nullable() })
    .optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  /** Notes about this run, for example a server that was unavailable. */
  note: z.string().optional(),
  truncated: z.boolean().optional(),
  outputFile: z.string().optional(),
  chatId: z.string().optional(),
});
type MemberResult = z.infer<typeof MemberResult>;

/** Details of the call that the result depends on. */
export type ResultOptions = Pick<Call, 'ceilingMs' | 'tool'>;

export interface SquadResult {
  squadId: string;
  status: SquadStatus;
  /** Metadata that the caller sent. */
  metadata?: Record<string, unknown>;
  members: MemberResult[];
  /** Open questions of the members of the squad. */
  asks?: ShownAsk[];
  /** Offset for `get_result` to continue with the members that did not fit. */
  nextOffset?: number;
  note?: string;
}

/** A squad's members and their output, within the limit. Long outputs lose their middle, which is marked. */
export async function squadResult(
  services: Pick<Services, 'engines' | 'files' | 'store' | 'reviews' | 'inbox' | 'runner' | 'clock'>,
  { id, metadata }: { id: string; metadata?: Record<string, unknown> | null },
  runs: Run[],
  {
    offset = 0,
    warnings = [],
    ceilingMs,
    tool,
  }: { offset?: number; warnings?: string[] } & ResultOptions = {},
): Promise<SquadResult> {
  const { files } = services;
  const result: SquadResult = {
    squadId: id,
    status: squadStatus(runs.map(shownStatus)),
    ...(metadata && { metadata }),
    members: [],
    ...openQuestionsOf(services, runs),
  };
  const waiting = runs.filter(run => !isEnd(run.status)).length;
  const notes = [...warnings, ...askNotes(services, runs), ...(await waitingFor(services, runs))];
  if (waiting > 0)
    notes.push(`${waiting} of ${runs.length} not finished yet. ${waitingCall({ squad_id: id }, ceilingMs)}`);
  let used = JSON.stringify({ ...result, note: notes.join(' ') }).length;
  let promised = 0;
  const texts: TextItem[] = [];
  for (const [at, run] of runs.entries()) {
    if (at < offset) continue;
    const member = bare(run, notesOfRun(services, run), tool);
    const length = JSON.stringify(member).length + 1;
    const handles = JSON.stringify({ ...member, ...handlesOf(run, files) }).length + 1 - length;
    const samples = [await answerSample(files, run), await outputSample(files, run, 'stderr')];
    const least = leastLength({ samples, handles });
    const room = RESULT_LIMIT - (at === runs.length - 1 ? 0 : MORE_LENGTH);
    if (result.members.length > 0 && used + length + promised + least > room) {
      result.nextOffset = at;
      used += MORE_LENGTH;
      break;
    }
    used += length;
    promised += least;
    result.members.push(member);
    texts.push({ samples, handles });
  }
  if (result.nextOffset !== undefined)
    notes.push(
      `Members ${offset} to ${result.nextOffset - 1} of ${runs.length}: get_result {"squad_id":"${id}","offset":${result.nextOffset}} has the next.`,
    );
  let cuts = fitItems(texts, RESULT_LIMIT - used);
  if (cuts.flat().some(({ isUnmarked }) => isUnmarked)) {
    notes.push(READ_ON);
    cuts = fitItems(texts, RESULT_LIMIT - used - jsonLength(` ${READ_ON}`));
  }
  if (notes.length > 0) result.note = notes.join(' ');
  cuts.forEach(([out, err], i) => {
    const member = result.members[i]!;
    member.rawStdout = out!.text;
    member.rawStderr = err!.text;
    if (out!.truncated || err!.truncated) Object.assign(member, handlesOf(runs[offset + i]!, files));
  });
  return result;
}

function bare(run: Run, notes: string[], tool: string | undefined): MemberResult {
  const error = runError(run, tool, MAX_ERROR_LENGTH);
  return {
    memberId: run.id,
    roleId: runName(run),
    cwd: run.cwd,
    ...(run.stateMode === 'stateful' && hasChat(run) && { chatId: run.chatId }),
    status: shownStatus(run),
    engine: run.engine,
    rawStdout: '',
    rawStderr: '',
    ...(run.evidence && {
      evidence: {
        verdict: run.evidence.verdict,
        files_changed: run.evidence.filesChanged?.count ?? null,
        tool_calls: run.evidence.toolCalls,
      },
    }),
    ...(error && { error }),
    ...(notes.length > 0 && { note: fitNotes(notes, run.id, MAX_NOTE) }),
  };
}

const handlesOf = (run: Run, files: RunFiles) => ({
  truncated: true as const,
  outputFile: files.outputPath({ runId: run.id, number: run.turn }, 'stdout'),
});

/** A run that never started has no chat, even if an id was chosen for it. */
const hasChat = (run: Run): run is Run & { chatId: string } =>
  run.chatId !== null && (run.startedAt !== null || !run.chatIsNew);

/** The agent's answer: the engine's final answer if there is one, otherwise its output. */
export async function answerSample(files: RunFiles, run: Run): Promise<Sample> {
  const answer = await files.answer(run.id);
  if (answer === null) return run.outputIsEvents ? EMPTY : outputSample(files, run, 'stdout');
  const bytes = Buffer.byteLength(answer);
  const readOn = pagesFrom(run, 'stdout', 0);
  if (answer.length <= 2 * SAMPLE_BYTES) return { head: answer, tail: '', bytes, readOn };
  return {
    head: answer.slice(0, SAMPLE_BYTES).toWellFormed(),
    tail: answer.slice(-SAMPLE_BYTES).toWellFormed(),
    bytes,
    readOn,
  };
}

async function outputSample(files: RunFiles, run: Run, stream: 'stdout' | 'stderr'): Promise<Sample> {
  if (run.startedAt === null) return EMPTY;
  const turn = { runId: run.id, number: run.turn };
  const head = await files.page(turn, stream, 0, SAMPLE_BYTES);
  const readOn = pagesFrom(run, stream, total(await turnSizes(files, run.id, run.turn - 1, stream)));
  if (head.nextOffset >= head.size) return { head: head.text, tail: '', bytes: head.size, readOn };
  const rest = await files.page(
    turn,
    stream,
    Math.max(head.nextOffset, head.size - SAMPLE_BYTES),
    SAMPLE_BYTES,
  );
  if (rest.offset <= head.nextOffset)
    return { head: head.text + rest.text, tail: '', bytes: head.size, readOn };
  return { head: head.text, tail: rest.text, bytes: head.size, readOn };
}

/** `get_result` pages through the output of all turns; `before` is the number of bytes that earlier turns wrote. */
const pagesFrom =
  ({ id }: Run, stream: 'stdout' | 'stderr', before: number) =>
  (offset: number) =>
    `get_result ${JSON.stringify({
      spawn_id: id,
      ...(stream === 'stderr' && { stream }),
      offset: before + offset,
    })}`;

/** Limits in characters of JSON, because paths and commit subjects can be long and results have a size limit. */
const MAX_EVIDENCE_CHARS = { files: 1_200, commits: 600, note: 300 };

/** Evidence that Squad collected about a run. Null if none was collected, or the run has not ended. */
export const RunEvidence = z.object({
  verdict: Verdict.nullable(),
  exit_code: z.number().nullable(),
  tool_calls: z.number().nullable(),
  tool_failures: z.number().nullable(),
  /** Changed files. `files` contains as many as fit. */
  files_changed: z.object({ count: z.number(), files: z.array(z.string()).optional() }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).optional() }).nullable(),
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftovers_killed: z.number().nullable(),
  note: z.string().optional(),
});
export type RunEvidence = z.infer<typeof RunEvidence>;

function runEvidence({ evidence, status }: Run, turn: Turn | undefined): RunEvidence {
  const { filesChanged = null, commits = null, note = null } = evidence ?? {};
  const leftovers = isEnd(status) ? (turn?.leftovers.length ?? 0) : null;
  return {
    verdict: evidence?.verdict ?? null,
    exit_code: (evidence ?? turn)?.exitCode ?? null,
    tool_calls: evidence?.toolCalls ?? null,
    tool_failures: evidence?.toolFailures ?? null,
    files_changed: filesChanged && {
      count: filesChanged.count,
      files: firstThatFit(filesChanged.files, MAX_EVIDENCE_CHARS.files),
    },
    commits: commits && {
      count: commits.count,
      newest: firstThatFit(commits.newest, MAX_EVIDENCE_CHARS.commits),
    },
    diff: evidence?.diff ?? null,
    leftovers_killed: evidence?.leftoversKilled ?? leftovers,
    ...(note !== null && { note: longestStart(note, MAX_EVIDENCE_CHARS.note) }),
  };
}

/** Evidence with numbers only, without file names. */
export function briefly({ files_changed, commits, note, ...rest }: RunEvidence): RunEvidence {
  return {
    ...rest,
    files_changed: files_changed && { count: files_changed.count },
    commits: commits && { count: commits.count },
  };
}

/** Maximum length of each part of a result, in characters of JSON. */
const MAX_CHARS = { model: 200, error: 1_000, advisory: 800, structured: 6_000, note: 1_000 };

export const Tokens = z.object({
  input: z.number().nullable(),
  output: z.number().nullable(),
  cached: z.number().nullable(),
});

/** The result of one run. A value that the engine does not report is null, never a 0 that looks measured. */
export const RunResult = z.object({
  spawn_id: z.string(),
  squad_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  success: z.boolean().nullable(),
  result: z.string().nullable(),
  structured: z.unknown().optional().describe('The answer as a value that fits the schema asked for'),
  duration_seconds: z.number().nullable(),
  cost_usd: z.number().nullable(),
  model: z.string().nullable(),
  tokens: Tokens.nullable(),
  usage_source: z.enum(['reported', 'estimated', 'none']).describe('`estimated`: cost from a price list'),
  error: z.object({ code: z.string(), message: z.string(), tool_name: z.string().optional() }).optional(),
  evidence: RunEvidence,
  sandbox: SandboxLevel,
  advisory: z.array(z.string()).optional().describe('Limits that are only in its instructions, not enforced'),
  activity: z.string().optional().describe('Last activity, while it runs'),
  asks: z.array(ShownAsk).optional().describe('Its open questions'),
  chat_id: z.string().optional(),
  truncated: z.boolean().optional(),
  output_file: z.string().optional(),
  note: z.string().optional(),
});
export type RunResult = z.infer<typeof RunResult>;

/**
 * The result within the size limit: a long answer loses its middle, which is marked. `ceilingMs` is how long the client
 * allows one call to take.
 */
export async function runResult(
  services: Services,
  live: Run,
  { warnings = [], ceilingMs, tool }: { warnings?: string[] } & ResultOptions = {},
): Promise<RunResult> {
  // A copy is used, because a live run may end while its turns are read, and its end would then be shown without its
  // facts.
  const run = { ...live };
  const { files } = services;
  const result = await resultWithoutText(services, run, tool);
  const notes = [
    ...warnings,
    ...askNotes(services, [run]),
    ...(await waitingFor(services, [run])),
    ...(await workNotes(services, run)),
    ...run.notes,
    ...loginHint(services, run),
  ];
  if (!isEnd(run.status)) notes.push(`Not finished yet. ${waitingCall({ spawn_id: run.id }, ceilingMs)}`);
  if (result.structured !== undefined && JSON.stringify(result.structured).length > MAX_CHARS.structured) {
    delete result.structured;
    notes.push('structured is too long to show: get_result with stream "result" pages through it.');
  }
  if (notes.length > 0) result.note = fitNotes(notes, run.id, MAX_CHARS.note);
  if (!isEnd(run.status)) return result;
  const output_file = files.outputPath({ runId: run.id, number: run.turn }, 'stdout');
  const used = JSON.stringify({ ...result, result: '' }).length;
  const handles = JSON.stringify({ truncated: true, output_file }).length;
  const samples = [await answerSample(files, run)];
  const [[answer]] = fitItems([{ samples, handles }], RESULT_LIMIT - used) as [Cut[]];
  return { ...result, result: answer!.text, ...(answer!.truncated && { truncated: true, output_file }) };
}

/** A result without the agent's text and without the hints for reading that text. */
export async function resultWithoutText(
  services: Services,
  run: Run,
  tool: string | undefined,
): Promise<RunResult> {
  const error = runError(run, tool, MAX_CHARS.error);
  const { store, files, clock } = services;
  const over = isEnd(run.status);
  const { usage, options } = run;
  const [turns, structured, activity] = await Promise.all([
    store.turns(run.id),
    over && options.outputSchema ? files.structured(run.id) : null,
    over ? null : latestActivity(store, run, clock.now()),
  ]);
  const advisory = run.policy
    .filter(({ heldBy }) => heldBy === 'advisory')
    .map(({ rule, note }) => (note === null ? rule : `${rule}: ${note}`));
  return {
    spawn_id: run.id,
    squad_id: run.squadId,
    role_id: run.roleId,
    status: shownStatus(run),
    success: over ? shownStatus(run) === 'completed' : null,
    result: null,
    ...(structured !== null && { structured }),
    duration_seconds:
      run.startedAt === null || run.endedAt === null ? null : (run.endedAt - run.startedAt) / 1000,
    cost_usd: usage?.costUsd == null ? null : Number(usage.costUsd.toFixed(6)),
    model: run.model && longestStart(run.model, MAX_CHARS.model),
    tokens: usage && { input: usage.input, output: usage.output, cached: usage.cached },
    usage_source: usage === null ? 'none' : usage.costIsEstimated ? 'estimated' : 'reported',
    sandbox: options.sandbox.level,
    ...(error && { error }),
    evidence: runEvidence(run, turns.at(-1)),
    ...(advisory.length > 0 && { advisory: firstThatFit(advisory, MAX_CHARS.advisory) }),
    ...(activity !== null && { activity }),
    ...(!over && openQuestionsOf(services, [run])),
    ...(run.stateMode === 'stateful' && run.chatId !== null && { chat_id: run.chatId }),
  };
}
