import { z } from 'zod';
import { type Cut, firstThatFit, fitItems, longestStart } from '../../core/output/digest.ts';
import { CommitMade, Verdict } from '../../schema/evidence.ts';
import { isEnd, type Run, type Turn } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { askNotes, openQuestionsOf, ShownAsk } from '../inbox/open-questions.ts';
import type { Services } from '../operation.ts';
import { answerSample, RESULT_LIMIT, type ResultOptions } from './member-result.ts';
import { fitNotes, loginHint, runError } from './run-notes.ts';
import { workNotes } from './run-work.ts';
import { latestActivity } from './status-text.ts';
import { waitingCall, waitingFor } from './wait.ts';

/** Paths and commit subjects can be long, and results have a size limit. In characters of JSON. */
const MAX_EVIDENCE_CHARS = { files: 1_200, commits: 600, note: 300 };

/** Evidence that Squad observed of a run. Null: not observed, or the run has not ended. */
export const RunEvidence = z.object({
  verdict: Verdict.nullable(),
  exit_code: z.number().nullable(),
  tool_calls: z.number().nullable(),
  tool_failures: z.number().nullable(),
  /** `files`: the first ones that fit. */
  files_changed: z.object({ count: z.number(), files: z.array(z.string()).optional() }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).optional() }).nullable(),
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftovers_killed: z.number().nullable(),
  note: z.string().optional(),
});
export type RunEvidence = z.infer<typeof RunEvidence>;

function runEvidence({ evidence, status }: Run, turn: Turn | undefined): RunEvidence {
  if (evidence === null)
    return {
      ...UNSEEN,
      exit_code: turn?.exitCode ?? null,
      leftovers_killed: isEnd(status) ? (turn?.leftovers.length ?? 0) : null,
    };
  const { filesChanged, commits, note } = evidence;
  return {
    verdict: evidence.verdict,
    exit_code: evidence.exitCode,
    tool_calls: evidence.toolCalls,
    tool_failures: evidence.toolFailures,
    files_changed: filesChanged && {
      count: filesChanged.count,
      files: firstThatFit(filesChanged.files, MAX_EVIDENCE_CHARS.files),
    },
    commits: commits && {
      count: commits.count,
      newest: firstThatFit(commits.newest, MAX_EVIDENCE_CHARS.commits),
    },
    diff: evidence.diff,
    leftovers_killed: evidence.leftoversKilled,
    ...(note !== null && { note: longestStart(note, MAX_EVIDENCE_CHARS.note) }),
  };
}

/** The figures without the names. */
export function briefly({ files_changed, commits, note, ...rest }: RunEvidence): RunEvidence {
  return {
    ...rest,
    files_changed: files_changed && { count: files_changed.count },
    commits: commits && { count: commits.count },
  };
}

const UNSEEN: RunEvidence = {
  verdict: null,
  exit_code: null,
  tool_calls: null,
  tool_failures: null,
  files_changed: null,
  commits: null,
  diff: null,
  leftovers_killed: null,
};

/** In characters of JSON. */
const MAX_CHARS = { model: 200, error: 1_000, advisory: 800, structured: 6_000, note: 1_000 };

export const Tokens = z.object({
  input: z.number().nullable(),
  output: z.number().nullable(),
  cached: z.number().nullable(),
});

/** One run's result. What the engine does not report is null, never a 0 that looks measured. */
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
  advisory: z.array(z.string()).optional().describe('Limits that only its instructions hold'),
  activity: z.string().optional().describe('What it did last, while it runs'),
  asks: z.array(ShownAsk).optional().describe('What it waits for an answer to'),
  chat_id: z.string().optional(),
  truncated: z.boolean().optional(),
  output_file: z.string().optional(),
  note: z.string().optional(),
});
export type RunResult = z.infer<typeof RunResult>;

/** Within the limit: a long answer loses its middle, and says so. `ceilingMs`: how long the client lets one call take. */
export async function runResult(
  services: Services,
  live: Run,
  { warnings = [], ceilingMs, tool }: { warnings?: string[] } & ResultOptions = {},
): Promise<RunResult> {
  // A snapshot: the run changes while its turns are read, and an end must not be shown without its facts.
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

/** A result without the agent's text and the handles to it. */
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
    ...(error && { error }),
    evidence: runEvidence(run, turns.at(-1)),
    ...(advisory.length > 0 && { advisory: firstThatFit(advisory, MAX_CHARS.advisory) }),
    ...(activity !== null && { activity }),
    ...(!over && openQuestionsOf(services, [run])),
    ...(run.stateMode === 'stateful' && run.chatId !== null && { chat_id: run.chatId }),
  };
}
