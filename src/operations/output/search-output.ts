import { z } from 'zod';
import type { Engine, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { OutputMatches, OutputQuery, OutputStream } from '../../core/ports/run-files.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { moreCalls } from '../../schema/conversation-view.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** Null: its engine has no events, its output is words already. */
export async function readerOf(
  { files, engines }: Pick<Services, 'files' | 'engines'>,
  run: Run,
): Promise<Engine['reader']> {
  const kept = await loadPlan(files, run);
  return kept && engines.create(kept.spec).reader;
}

/** What an engine's output line says, for people. */
export const engineText =
  (reader: EngineReader) =>
  (line: string): string[] =>
    reader.line(line).map(inWords).filter(Boolean);

function inWords(event: EngineEvent): string {
  if (event.type === 'text') return event.text;
  if (event.type === 'tool') return `» ${event.name} ${event.detail}`;
  if (event.type === 'more_tools') return `» ${moreCalls(event)}`;
  if (event.type === 'note') return `· ${event.text}`;
  if (event.type === 'end' && !event.ok) return `✗ ${event.error ?? 'failed'}`;
  return '';
}

/** The lines of one output that have something in them; in the words of an engine's events where it has those and they are wanted. */
export async function searchTurn(
  services: Pick<Services, 'files' | 'engines'>,
  run: Run,
  { turn, stream, readable }: { turn: number; stream: OutputStream; readable: boolean },
  query: Omit<OutputQuery, 'words'>,
): Promise<OutputMatches> {
  const reader = readable && stream === 'stdout' ? await readerOf(services, run) : null;
  const inWords = reader && engineText(reader());
  const words = inWords && ((line: string) => inWords(line).join(' ').replaceAll('\n', ' '));
  return services.files.search({ runId: run.id, number: turn }, stream, { ...query, words });
}

const SEARCH_MS = 750;
const COUNT_MS = 500;

/** Lines of a run's output with these words in them, from its beginning on. */
export const searchOutput = operation({
  name: 'search_output',
  route: 'GET /runs/{run}/output/search',
  agents: 'spawn',
  tool: null,
  input: z.strictObject({
    run: z.string(),
    /** Its newest unless said otherwise. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    q: z.string().min(1).max(1000),
    isRegex: z.boolean().default(false),
    isCaseSensitive: z.boolean().default(false),
    /** `next` of the answer before. */
    after: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(500).default(100),
    /** In the words of an engine's events, as read_output has them. */
    readable: z.boolean().default(false),
  }),
  output: z.object({
    runId: z.string(),
    turn: z.number(),
    matches: z.array(
      z.object({
        /** From 1; null: so far into a long output that it is not known yet. */
        line: z.number().nullable(),
        /** The byte the line starts at. */
        offset: z.number(),
        /** The line, or as much as fits around the match; without colours. */
        text: z.string(),
        /** Characters of the whole line before the match. */
        column: z.number(),
      }),
    ),
    /** Where to go on; null: nothing is left. */
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
