import { z } from 'zod';
import type { Engine, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import {
  type OutputMatches,
  type OutputPage,
  OutputPlace,
  type OutputQuery,
  type OutputStream,
} from '../../core/ports/run-files.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { moreCalls } from '../../schema/conversation-view.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, type Run, RunStatus } from '../../schema/run.ts';
import { operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** Fields that select an output of a run. */
const ofOutput = {
  run: z.string(),
  /** Number of the turn (default: the last turn). */
  turn: z.number().int().min(1).optional(),
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
};

/** Reader of the events of the turn's engine. Null if the engine has none, so that its output is already plain text. */
export async function readerOf(
  { files, engines }: Pick<Services, 'files' | 'engines'>,
  run: Run,
  turn: number,
): Promise<Engine['reader']> {
  const kept = await loadPlan(files, run, turn);
  return kept && engines.create(kept.spec).reader;
}

/** Readable text of an engine's output line. */
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
  const reader = readable && stream === 'stdout' ? await readerOf(services, run, turn) : null;
  const textOf = reader && engineText(reader());
  const words = textOf && ((line: string) => textOf(line).join(' ').replaceAll('\n', ' '));
  return services.files.search({ runId: run.id, number: turn }, stream, { ...query, words });
}

const SEARCH_MS = 750;
const LINE_COUNT_MS = 500;

/** Matching lines of a run's output, from its beginning on. */
export const searchOutput = operation({
  name: 'search_output',
  route: 'GET /runs/{run}/output/search',
  agents: 'spawn',
  input: z.strictObject({
    ...ofOutput,
    q: z.string().min(1).max(1000),
    isRegex: z.boolean().default(false),
    isCaseSensitive: z.boolean().default(false),
    /** Offset to continue from: `next` of the previous reply. */
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
        /** Line number from 1. Null if not known yet, because the line is far into a long output. */
        line: z.number().nullable(),
        /** Byte offset of the line. */
        offset: z.number(),
        /** The line, or the part around the match, without colours. */
        text: z.string(),
        /** Number of characters in the line before the match. */
        column: z.number(),
      }),
    ),
    /** Offset to continue from. Null if nothing is left. */
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
        : (await services.files.lineAt(key, stream, after, LINE_COUNT_MS)).line;
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
      suggestions: ['Search for plain text instead, or put a backslash before each special character.'],
      cause: thrown,
    });
  if (thrown.code === 'PATTERN_TOO_SLOW')
    throw new SquadError('INVALID_INPUT', thrown.message, {
      suggestions: ['Remove repetitions inside repetitions, like (a+)+, from the pattern.'],
      cause: thrown,
    });
  throw thrown;
}

const BYTES = 256 * 1024;
/**
 * Timeout for counting lines, because a page must come fast. If a long output is not counted in time, locate_output
 * returns the line number later.
 */
const COUNT_MS = 100;

/** A run's output by byte range, for the terminal and the web UI. */
export const readOutput = operation({
  name: 'read_output',
  route: 'GET /runs/{run}/output',
  agents: 'spawn',
  input: z.strictObject({
    ...ofOutput,
    offset: z.number().int().default(0),
    limit: z.number().int().min(1).max(BYTES).default(BYTES),
    /** Convert event lines of an engine to text; other output stays unchanged. */
    readable: z.boolean().default(false),
    /** Return complete lines, if one fits, and the number of the first line. */
    lines: z.boolean().default(false),
  }),
  output: z.object({
    runId: z.string(),
    status: RunStatus,
    isOver: z.boolean(),
    turn: z.number(),
    lastTurn: z.number(),
    text: z.string(),
    offset: z.number(),
    nextOffset: z.number(),
    size: z.number(),
    /** Line number from 1. Null if it was not requested or is not known yet. */
    firstLine: z.number().nullable(),
  }),
  async run({ services }, { run: given, turn: asked, stream, offset, limit, readable, lines }) {
    const run = await findRun(services, given);
    // The status is read before the page: if the run has ended by now, this page is the last one.
    const { status, turn: lastTurn } = run;
    const turn = asked ?? lastTurn;
    const key = { runId: run.id, number: turn };
    const page = await services.files.page(key, stream, offset, limit, lines);
    const reader = readable && stream === 'stdout' ? await readerOf(services, run, turn) : null;
    const place = lines ? await services.files.lineAt(key, stream, page.offset, COUNT_MS) : null;
    return {
      runId: run.id,
      status,
      isOver: isEnd(status),
      turn,
      lastTurn,
      firstLine: place?.line ?? null,
      ...(reader ? readablePage(page, engineText(reader()), limit) : page),
    };
  },
});

/** Returns complete lines only: the next page begins at the first incomplete line. */
function readablePage(page: OutputPage, textOf: (line: string) => string[], limit: number): OutputPage {
  const end = page.text.lastIndexOf('\n') + 1;
  // A line longer than a page cannot be an event, so it is skipped.
  if (end === 0)
    return {
      ...page,
      text: '',
      nextOffset: Buffer.byteLength(page.text) >= limit - 4 ? page.nextOffset : page.offset,
    };
  const whole = page.text.slice(0, end);
  const text = whole.split('\n').flatMap(textOf);
  return {
    ...page,
    text: text.map(line => `${line}\n`).join(''),
    nextOffset: page.offset + Buffer.byteLength(whole),
  };
}

const BUDGET_MS = 1_000;

/** Finds the offset of a line, or the line at an offset. */
export const locateOutput = operation({
  name: 'locate_output',
  route: 'GET /runs/{run}/output/place',
  agents: 'spawn',
  input: z.strictObject({
    ...ofOutput,
    /** The caller gives either `line` or `offset`, never both. */
    line: z.number().int().min(1).optional(),
    offset: z.number().int().min(0).optional(),
  }),
  output: z.object({
    runId: z.string(),
    turn: z.number(),
    ...OutputPlace.shape,
  }),
  async run({ services }, { run: given, turn: asked, stream, line, offset }) {
    if ((line === undefined) === (offset === undefined))
      throw new SquadError('INVALID_INPUT', 'Give either line or offset', {
        suggestions: ['`line` finds the byte offset of a line; `offset` finds the line of a byte.'],
      });
    const run = await findRun(services, given);
    const turn = asked ?? run.turn;
    const key = { runId: run.id, number: turn };
    const { files } = services;
    const place =
      line === undefined
        ? await files.lineAt(key, stream, offset!, BUDGET_MS)
        : await files.offsetOf(key, stream, line, BUDGET_MS);
    return { runId: run.id, turn, ...place };
  },
});
