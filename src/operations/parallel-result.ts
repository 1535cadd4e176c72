import { z } from 'zod';
import { EMPTY, fitTexts, jsonLength, longestStart, type Sample } from '../core/digest.ts';
import { isEnd, type Run } from '../schema/run.ts';
import { Aggregate, aggregateOf, aggregateText } from './aggregate.ts';
import { askNotes } from './asks-of.ts';
import { answerSample, RESULT_LIMIT } from './member-result.ts';
import type { Services } from './operation.ts';
import { briefly } from './run-evidence.ts';
import { RunResult, withoutText } from './run-result.ts';

/** A result that said something is shown with at least this much of it, if need be at the cost of its figures. */
const LEAST_TEXT = 300;
/** Of the room there is for words, when they are also put together. */
const SHARE_OF_RESULTS = 0.35;
const LONGEST_NOTE = 1_000;
const LONGEST_ERROR = { full: 500, brief: 200, line: 40 };
/** Of each run. With one line for each, the notes of all runs share the note of the whole result. */
const MAX_RUN_NOTE = { full: 400, brief: 150, line: 0 };

type Detail = keyof typeof LONGEST_ERROR;

export const ParallelResult = z.object({
  squad_id: z.string(),
  results: z.array(RunResult.partial().extend({ spawn_id: z.string(), status: z.string() })),
  aggregate: Aggregate.optional(),
  note: z.string().optional(),
});
export type ParallelResult = z.infer<typeof ParallelResult>;
type Item = ParallelResult['results'][number];

export interface ParallelOptions {
  aggregates: boolean;
  notes?: string[];
}

/** Every run's result in order, within the limit: the more there are, the less is said of each. */
export async function parallelResult(
  services: Services,
  squadId: string,
  live: Run[],
  { aggregates, notes = [] }: ParallelOptions,
): Promise<ParallelResult> {
  const runs = live.map(run => ({ ...run }));
  const { files } = services;
  const facts = await Promise.all(runs.map(run => withoutText(services, run)));
  const samples = await Promise.all(runs.map(run => (isEnd(run.status) ? answerSample(files, run) : EMPTY)));
  const paths = runs.map(run => files.outputPath({ runId: run.id, number: run.turn }, 'stdout'));
  const details: Detail[] = ['full', 'brief', 'line'];
  for (const detail of details) {
    const hint = detail === 'full' ? [] : ['get_result {"spawn_id"} has all of one.'];
    const ofRuns = detail === 'line' ? new Set(runs.flatMap(run => run.notes)) : [];
    const note = longestStart(
      [...askNotes(services, runs), ...notes, ...hint, ...ofRuns].join(' '),
      LONGEST_NOTE,
    );
    const frame: ParallelResult = {
      squad_id: squadId,
      results: facts.map((fact, i) => item(fact, runs[i]!, detail, paths[i]!)),
      ...(aggregates && { aggregate: { ...aggregateOf(runs), text: '' } }),
      ...(note && { note }),
    };
    const room = RESULT_LIMIT - JSON.stringify(frame).length;
    if (detail === 'line' || room >= least(samples)) return withTexts(frame, runs, samples, room);
  }
  throw new Error('There is always a last detail');
}

/** As long as it can become, without its words: what turns out not to be cut loses the handles again. */
function item(fact: RunResult, { notes }: Run, detail: Detail, output_file: string): Item {
  const error = fact.error && {
    code: fact.error.code,
    message: longestStart(fact.error.message, LONGEST_ERROR[detail]),
  };
  const words = fact.success === null ? {} : { result: '', truncated: true };
  if (detail === 'line') {
    const { spawn_id, status, success } = fact;
    return { spawn_id, status, success, ...(error && { error }), ...words };
  }
  const { squad_id, structured, ...rest } = fact;
  const isShort = structured !== undefined && JSON.stringify(structured).length <= LEAST_TEXT;
  return {
    ...rest,
    ...(isShort && { structured }),
    ...(error && { error }),
    ...(notes.length > 0 && { note: longestStart(notes.join(' '), MAX_RUN_NOTE[detail]) }),
    ...(detail === 'brief' && { evidence: briefly(fact.evidence), advisory: undefined }),
    ...words,
    ...('truncated' in words && { output_file }),
  };
}

function withTexts(frame: ParallelResult, runs: Run[], samples: Sample[], room: number): ParallelResult {
  const { aggregate } = frame;
  const ofResults = aggregate ? Math.floor(room * SHARE_OF_RESULTS) : room;
  fitTexts(samples, ofResults).forEach(({ text, truncated }, i) => {
    const result = frame.results[i]!;
    if (result.result === undefined || result.result === null) return;
    result.result = text;
    if (truncated) return;
    delete result.truncated;
    delete result.output_file;
  });
  if (aggregate) aggregate.text = aggregateText(runs, samples, room - ofResults);
  return frame;
}

const least = (samples: Sample[]): number =>
  samples.reduce((sum, { head }) => sum + Math.min(LEAST_TEXT, jsonLength(head)), 0);
