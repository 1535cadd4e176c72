import { z } from 'zod';
import type { Engine, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { OutputMatches, OutputQuery, OutputStream } from '../../core/ports/run-files.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { moreCalls } from '../../schema/conversation-view.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** Null: its engine has no events, and its output is text already. */
export async function readerOf(
  { files, engines }: Pick<Services, 'files' | 'engines'>,
  run: Run,
): Promise<Engine['reader']> {
  const kept = await loadPlan(files, run);
  return kept && engines.create(kept.spec).reader;
}

/** The text of an engine's output line, for people. */
export const engineText =
  (reader: EngineReader) =>
  (line: string): string[] =>
    reader.line(line).map(eventText).filter(Boolean);

function eventText(event: EngineEvent): string {
  if (event.type === 'text') return event.text;
  if (event.type === 'tool') return `» ${event.name} ${event.detail}`;
  if (event.type === 'more_tools') return `» ${moreCalls(event)}`;
  if (event.type === 'note') return `· ${event.text}`;
  if (event.type === 'end' && !event.ok) return `✗ ${event.error ?? 'failed'}`;
  return '';
}

/** Matching lines of one output. With `readable`, the text of an engine's events is searched instead of the lines. */
export async function searchTurn(
  services: Pick<Services, 'files' | 'engines'>,
  run: Run,
  { turn, stream, readable }: { turn: number; stream: OutputStream; readable: boolean },
  query: Omit<OutputQuery, 'words'>,
): Promise<OutputMatches> {
  const reader = readable && stream === 'stdout' ? await readerOf(services, run) : null;
  const textOf = reader && engineText(reader());
  const words = textOf && ((line: string) => textOf(line).join(' ').replaceAll('\n', ' '));
  return services.files.search({ runId: run.id, number: turn }, stream, { ...query, words });
}

const SEARCH_MS = 750;
const COUNT_MS = 500;

/** Matching lines of a run's output, from its beginning on. */
export const searchOutput = operation({
  name: 'search_output',
  route: 'GET /runs/{run}/output/search',
  agents: 'spawn',
  input: z.strictObject({
    run: z.string(),
    /** Default: the last turn. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    q: z.string().min(1).max(1000),
    isRegex: z.boolean().default(false),
    isCaseSensitive: z.boolean().default(false),
    /** `next` of the previous reply. */
    after: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(500).default(100),
    /** Search the text of an engine's events, as read_output shows it. */
    readable: z.boolean().default(false),
  }),
  output: z.object({
    runId: z.string(),
    turn: z.number(),
    matches: z.array(
      z.object({
        /** From 1; null: not known yet, because it is far into a long output. */
        line: z.number().nullable(),
        /** Byte offset of the line. */
        offset: z.number(),
        /** The line, or the part around the match; without colours. */
        text: z.string(),
        /** Characters of the whole line before the match. */
        column: z.number(),
      }),
    ),
    /** Where to continue; null: nothing is left. */
    next: z.number().nullable(),
    isComplete: z.boolean(),
  }),
  async run({ services }, { run: given, turn: asked, stream, readable, after, ...query }) {
    const run = await findRun(services, given);
    const turn = asked ?? run.turn;
    const key = { runId: run.id, number: turn };
    const place = { turn, stream, readable };
    const { matches, next } = await searchTurn(services, run, place, {
      ...{ ...query, after, budgetMs: SEARCH_MS },
    }).catch(refused);
    const first =
      after === 0 || matches.length === 0
        ? 1
        : (await services.files.lineAt(key, stream, after, COUNT_MS)).line;
    return {
      runId: run.id,
      turn,
      matches: matches.map(match => ({ ...match, line: first && first + match.line - 1 })),
      next,
      isComplete: next === null,
    };
  },
});

function refused(thrown: NodeJS.ErrnoException): never {
  if (thrown.code === 'PATTERN_INVALID')
    throw new SquadError('INVALID_INPUT', `Not a regular expression: ${thrown.message}`, {
      suggestions: ['Search for it as plain words, or put a backslash before what is meant as it is.'],
      cause: thrown,
    });
  if (thrown.code === 'PATTERN_TOO_SLOW')
    throw new SquadError('INVALID_INPUT', thrown.message, {
      suggestions: ['Take repetitions inside repetitions, like (a+)+, out of it.'],
      cause: thrown,
    });
  throw thrown;
}
