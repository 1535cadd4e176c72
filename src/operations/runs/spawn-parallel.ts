import { z } from 'zod';
import { usageTogether } from '../../core/cost/usage.ts';
import {
  EMPTY,
  fitItems,
  fitToLength,
  jsonLength,
  leastLength,
  longestStart,
  type Sample,
  type TextItem,
} from '../../core/output/digest.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { reportFailure } from '../dispatch.ts';
import { askNotes } from '../inbox/open-questions.ts';
import { operation, type Services } from '../operation.ts';
import { fitNotes, loginHint, notesOfRun } from './run-notes.ts';
import {
  answerSample,
  briefly,
  READ_ON,
  RESULT_LIMIT,
  RunResult,
  resultWithoutText,
  Tokens,
} from './run-result.ts';
import { CommonOptions, isAsync, runRequest, StatefulAgent } from './spawn.ts';
import { startMembers } from './start-runs.ts';
import { waitForEndsOrAsks, waitingCall } from './wait.ts';

/**
 * Sums over several runs. If only some runs reported a value, the number of the others is given too; if none did, the
 * sum is null.
 */
const Aggregate = z.object({
  ok: z.number(),
  failed: z.number(),
  running: z.number().optional().describe('Runs that have not ended'),
  duration_seconds: z.number().nullable().describe('Seconds from the first start to the last end'),
  cost_usd: z.number().nullable(),
  cost_unknown: z.number().optional().describe('Runs that reported no cost'),
  tokens: Tokens.nullable(),
  tokens_unknown: z.number().optional().describe('Runs that reported no tokens'),
  text: z.string(),
});

function aggregateOf(runs: Run[]): Omit<z.infer<typeof Aggregate>, 'text'> {
  const ended = runs.filter(({ status }) => isEnd(status));
  const ok = ended.filter(run => shownStatus(run) === 'completed').length;
  const starts = runs.flatMap(({ startedAt }) => startedAt ?? []);
  const ends = ended.flatMap(({ endedAt }) => endedAt ?? []);
  const isOver = ended.length === runs.length && starts.length > 0;
  const usage = usageTogether(runs.map(run => run.usage));
  const costUnknown = runs.filter(run => run.usage?.costUsd == null).length;
  const tokensUnknown = runs.filter(run => run.usage === null).length;
  return {
    ok,
    failed: ended.length - ok,
    ...(ended.length < runs.length && { running: runs.length - ended.length }),
    duration_seconds: isOver ? (Math.max(...ends) - Math.min(...starts)) / 1000 : null,
    cost_usd: usage?.costUsd ?? null,
    ...(costUnknown > 0 && { cost_unknown: costUnknown }),
    tokens: usage && { input: usage.input, output: usage.output, cached: usage.cached },
    ...(tokensUnknown > 0 && { tokens_unknown: tokensUnknown }),
  };
}

/** The answer of each run below a heading, at most `room` characters of JSON in total. */
function aggregateText(runs: Run[], samples: Sample[], room: number): string {
  const headings = runs.map(
    (run, i) => `## ${i + 1}. ${run.title ?? runName(run)} (${run.id}, ${shownStatus(run)})\n\n`,
  );
  const taken = headings.reduce((sum, heading) => sum + jsonLength(`${heading}\n\n`), 0);
  if (taken > room) return '';
  const texts = fitToLength(samples, room - taken);
  return headings.map((heading, i) => heading + texts[i]!.text.trim()).join('\n\n');
}

/** Maximum length of a structured answer. A longer answer is left out of the result. */
const MAX_STRUCTURED_LENGTH = 300;
/** Share of the space for text that the results get if there is also an aggregate. */
const SHARE_OF_RESULTS = 0.35;
const MAX_NOTE_LENGTH = 1_000;
const MAX_ERROR_LENGTH = { full: 500, brief: 200, line: 40 };
/** Maximum length of the note per run. With one line for each run, all notes share the note of the whole result. */
const MAX_RUN_NOTE = { full: 400, brief: 150, line: 0 };

const HINT_LENGTH = JSON.stringify({ note: READ_ON }).length;

type Detail = keyof typeof MAX_ERROR_LENGTH;

const ParallelResult = z.object({
  squad_id: z.string(),
  results: z.array(RunResult.partial().extend({ spawn_id: z.string(), status: z.string() })),
  aggregate: Aggregate.optional(),
  note: z.string().optional(),
});
type ParallelResult = z.infer<typeof ParallelResult>;
type Item = ParallelResult['results'][number];

interface ParallelOptions {
  aggregates: boolean;
  notes?: string[];
  tool?: string | undefined;
}

/** The results of all runs in order, within the limit: the more runs, the less space for each. */
export async function parallelResult(
  services: Services,
  squadId: string,
  live: Run[],
  { aggregates, notes = [], tool }: ParallelOptions,
): Promise<ParallelResult> {
  const runs = live.map(run => ({ ...run }));
  const { files } = services;
  const facts = await Promise.all(runs.map(run => resultWithoutText(services, run, tool)));
  const samples = await Promise.all(runs.map(run => (isEnd(run.status) ? answerSample(files, run) : EMPTY)));
  const paths = runs.map(run => files.outputPath({ runId: run.id, number: run.turn }, 'stdout'));
  const details: Detail[] = ['full', 'brief', 'line'];
  for (const detail of details) {
    const hint = detail === 'full' ? [] : [READ_ON];
    const ofRuns =
      detail === 'line' ? new Set(runs.flatMap(run => [...loginHint(services, run), ...run.notes])) : [];
    const note = longestStart(
      [...hint, ...askNotes(services, runs), ...notes, ...ofRuns].join(' '),
      MAX_NOTE_LENGTH,
    );
    const frame: ParallelResult = {
      squad_id: squadId,
      results: facts.map((fact, i) => item(fact, notesOfRun(services, runs[i]!), detail)),
      ...(aggregates && { aggregate: { ...aggregateOf(runs), text: '' } }),
      ...(note && { note }),
    };
    const room = RESULT_LIMIT - JSON.stringify(frame).length;
    const handles = paths.map(output_file => ({
      truncated: true,
      ...(detail !== 'line' && { output_file }),
    }));
    const texts = samples.map((sample, i) => ({
      samples: [sample],
      handles: facts[i]!.success === null ? 0 : JSON.stringify(handles[i]).length,
    }));
    const least = texts.reduce((sum, each) => sum + leastLength(each), 0);
    if (detail === 'line' || room >= least) {
      const isMarked = fillTexts(frame, runs, texts, handles, room);
      if (isMarked || detail !== 'full') return frame;
      frame.note = longestStart([READ_ON, note].filter(Boolean).join(' '), MAX_NOTE_LENGTH);
      fillTexts(frame, runs, texts, handles, room - HINT_LENGTH);
      return frame;
    }
  }
  throw new Error('There is always a last detail');
}

/** A list item for a run: its result without the agent's text and without the ids for reading that text. */
function item(fact: RunResult, notes: string[], detail: Detail): Item {
  const error = fact.error && {
    ...fact.error,
    message: longestStart(fact.error.message, MAX_ERROR_LENGTH[detail]),
  };
  const text = fact.success === null ? {} : { result: '' };
  if (detail === 'line') {
    const { spawn_id, status, success } = fact;
    return { spawn_id, status, success, ...(error && { error }), ...text };
  }
  const { squad_id, structured, ...rest } = fact;
  const isShort = structured !== undefined && JSON.stringify(structured).length <= MAX_STRUCTURED_LENGTH;
  return {
    ...rest,
    ...(isShort && { structured }),
    ...(error && { error }),
    ...(notes.length > 0 && { note: fitNotes(notes, fact.spawn_id, MAX_RUN_NOTE[detail]) }),
    ...(detail === 'brief' && { evidence: briefly(fact.evidence), advisory: undefined }),
    ...text,
  };
}

/** Returns false if the texts were cut so short that they have no hint how to read the whole text. */
function fillTexts(
  frame: ParallelResult,
  runs: Run[],
  texts: TextItem[],
  handles: Partial<Item>[],
  room: number,
): boolean {
  const { aggregate } = frame;
  const ofHandles = texts.reduce((sum, each) => sum + each.handles, 0);
  const ofResults = aggregate ? Math.max(Math.floor(room * SHARE_OF_RESULTS), ofHandles) : room;
  const cuts = fitItems(texts, ofResults);
  cuts.forEach(([cut], i) => {
    const result = frame.results[i]!;
    if (result.result === undefined || result.result === null) return;
    result.result = cut!.text;
    if (cut!.truncated) Object.assign(result, handles[i]);
  });
  const samples = texts.flatMap(each => each.samples);
  if (aggregate) aggregate.text = aggregateText(runs, samples, room - ofResults);
  return !cuts.flat().some(({ isUnmarked }) => isUnmarked);
}

/**
 * Target of an MCP task. The result of `spawn_parallel` differs from that of `start_squad_members`, and a later caller,
 * at any hub, must get the promised one, so the task id contains the kind.
 */
export interface TaskTarget {
  id: string;
  shape: 'members' | 'results' | 'aggregate' | 'run';
}

export const parallelTaskId = (squadId: string, aggregates: boolean): string =>
  `${squadId}.${aggregates ? 'aggregate' : 'results'}`;

/** Finds the run or squad of a task id. Null if Squad did not create the id. */
export function taskTarget(taskId: string): TaskTarget | null {
  const [, id, kind, suffix] = /^((run|squad)_[0-9a-z]+)(?:\.(results|aggregate))?$/.exec(taskId) ?? [];
  if (id === undefined || (kind === 'run' && suffix !== undefined)) return null;
  if (kind === 'run') return { id, shape: 'run' };
  return { id, shape: (suffix as 'results' | 'aggregate' | undefined) ?? 'members' };
}

const MAX_AGENTS = 50;

const flags = { aggregate_results: z.boolean().optional(), async: z.boolean().optional() };
const agents = <T extends z.ZodType>(agent: T) => z.array(agent).min(1).max(MAX_AGENTS);

export const spawnParallel = operation({
  name: 'spawn_parallel',
  route: 'POST /tools/spawn_parallel',
  agents: 'spawn',
  tool: {
    title: 'Spawn in parallel',
    description: 'Run several spawn_agent inputs (without async) at once and wait for all.',
    readOnly: false,
    listedInput: z.object({ agents: agents(CommonOptions.loose()), ...flags }),
    task: (answer, input) => {
      const { squad_id, results } = answer as ParallelResult;
      const { aggregate_results } = input as { aggregate_results?: boolean };
      return {
        id: parallelTaskId(squad_id, aggregate_results === true),
        isOpen: !isAsync(input) && results.some(({ success }) => success === null),
      };
    },
  },
  input: z.strictObject({ agents: agents(StatefulAgent.omit({ async: true })), ...flags }),
  output: ParallelResult,
  async run(call, input) {
    const {
      squad,
      runs: planned,
      warnings,
    } = await startMembers(call, {
      members: input.agents.map(agent => runRequest({ async: input.async, ...agent })),
    });
    const runs = planned.map(({ run }) => run);
    await waitForEndsOrAsks(call, runs, input.async ? 0 : call.waitMs);
    if (runs.some(({ status }) => !isEnd(status)))
      warnings.push(`Not all have finished. ${waitingCall({ squad_id: squad.id }, call.ceilingMs)}`);
    reportFailure(call, runs);
    return parallelResult(call.services, squad.id, runs, {
      aggregates: input.aggregate_results ?? false,
      notes: warnings,
      tool: call.tool,
    });
  },
});
