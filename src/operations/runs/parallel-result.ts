import { z } from 'zod';
import { EMPTY, fitItems, leastLength, longestStart, type TextItem } from '../../core/output/digest.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { askNotes } from '../inbox/open-questions.ts';
import type { Services } from '../operation.ts';
import { Aggregate, aggregateOf, aggregateText } from './aggregate.ts';
import { answerSample, READ_ON, RESULT_LIMIT } from './member-result.ts';
import { fitNotes, loginHint, notesOfRun } from './notes-of-run.ts';
import { briefly } from './run-evidence.ts';
import { RunResult, withoutText } from './run-result.ts';

/** A longer value is left out. */
const LONGEST_STRUCTURED = 300;
/** Of the room there is for words, when they are also put together. */
const SHARE_OF_RESULTS = 0.35;
const LONGEST_NOTE = 1_000;
const LONGEST_ERROR = { full: 500, brief: 200, line: 40 };
/** Of each run. With one line for each, the notes of all runs share the note of the whole result. */
const MAX_RUN_NOTE = { full: 400, brief: 150, line: 0 };

const ROOM_FOR_HINT = JSON.stringify({ note: READ_ON }).length;

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
  tool?: string | undefined;
}

/** Every run's result in order, within the limit: the more there are, the less is said of each. */
export async function parallelResult(
  services: Services,
  squadId: string,
  live: Run[],
  { aggregates, notes = [], tool }: ParallelOptions,
): Promise<ParallelResult> {
  const runs = live.map(run => ({ ...run }));
  const { files } = services;
  const facts = await Promise.all(runs.map(run => withoutText(services, run, tool)));
  const samples = await Promise.all(runs.map(run => (isEnd(run.status) ? answerSample(files, run) : EMPTY)));
  const paths = runs.map(run => files.outputPath({ runId: run.id, number: run.turn }, 'stdout'));
  const details: Detail[] = ['full', 'brief', 'line'];
  for (const detail of details) {
    const hint = detail === 'full' ? [] : [READ_ON];
    const ofRuns =
      detail === 'line' ? new Set(runs.flatMap(run => [...loginHint(services, run), ...run.notes])) : [];
    const note = longestStart(
      [...hint, ...askNotes(services, runs), ...notes, ...ofRuns].join(' '),
      LONGEST_NOTE,
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
      frame.note = longestStart([READ_ON, note].filter(Boolean).join(' '), LONGEST_NOTE);
      fillTexts(frame, runs, texts, handles, room - ROOM_FOR_HINT);
      return frame;
    }
  }
  throw new Error('There is always a last detail');
}

/** Everything but the text of the agent and the handles to the rest of it. */
function item(fact: RunResult, notes: string[], detail: Detail): Item {
  const error = fact.error && {
    ...fact.error,
    message: longestStart(fact.error.message, LONGEST_ERROR[detail]),
  };
  const words = fact.success === null ? {} : { result: '' };
  if (detail === 'line') {
    const { spawn_id, status, success } = fact;
    return { spawn_id, status, success, ...(error && { error }), ...words };
  }
  const { squad_id, structured, ...rest } = fact;
  const isShort = structured !== undefined && JSON.stringify(structured).length <= LONGEST_STRUCTURED;
  return {
    ...rest,
    ...(isShort && { structured }),
    ...(error && { error }),
    ...(notes.length > 0 && { note: fitNotes(notes, fact.spawn_id, MAX_RUN_NOTE[detail]) }),
    ...(detail === 'brief' && { evidence: briefly(fact.evidence), advisory: undefined }),
    ...words,
  };
}

/** False: some texts are cut and do not say how to read on. */
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
