import { z } from 'zod';
import type { OutputPage } from '../../core/ports/run-files.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, RunStatus } from '../../schema/run.ts';
import { operation } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { engineText, readerOf } from './search-output.ts';

const BYTES = 256 * 1024;
/** A page must come fast: if the lines of a long output are not counted yet, locate_output tells the line later. */
const COUNT_MS = 100;

/** A run's output by byte range, for the terminal and the web UI. */
export const readOutput = operation({
  name: 'read_output',
  route: 'GET /runs/{run}/output',
  agents: 'spawn',
  input: z.strictObject({
    run: z.string(),
    /** Default: the last turn. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    offset: z.number().int().default(0),
    limit: z.number().int().min(1).max(BYTES).default(BYTES),
    /** Event lines of an engine as text; other output stays as it is. */
    readable: z.boolean().default(false),
    /** Whole lines, if one fits, and the number of the first line. */
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
    /** From 1; null: not requested, or not known yet. */
    firstLine: z.number().nullable(),
  }),
  async run({ services }, { run: given, turn: asked, stream, offset, limit, readable, lines }) {
    const run = await findRun(services, given);
    // Read before the page: if the run has ended here, the page is the last.
    const { status, turn: lastTurn } = run;
    const turn = asked ?? lastTurn;
    const key = { runId: run.id, number: turn };
    const page = await services.files.page(key, stream, offset, limit, lines);
    const reader = readable && stream === 'stdout' ? await readerOf(services, run) : null;
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

/** Whole lines only: the next page begins at the first incomplete line. */
function readablePage(page: OutputPage, textOf: (line: string) => string[], limit: number): OutputPage {
  const end = page.text.lastIndexOf('\n') + 1;
  // A line longer than a page is no event of ours and is skipped.
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
    run: z.string(),
    /** Default: the last turn. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    /** Either `line` or `offset`. */
    line: z.number().int().min(1).optional(),
    offset: z.number().int().min(0).optional(),
  }),
  output: z.object({
    runId: z.string(),
    turn: z.number(),
    /** From 1; after the end the last line. Null: there is no output, or not found yet. */
    line: z.number().nullable(),
    /** Byte offset of the line. */
    offset: z.number().nullable(),
    /** Number of lines; null: not all of them are counted yet. */
    lines: z.number().nullable(),
    /** False: the output is long. The next call continues from there. */
    isComplete: z.boolean(),
  }),
  async run({ services }, { run: given, turn: asked, stream, line, offset }) {
    if ((line === undefined) === (offset === undefined))
      throw new SquadError('INVALID_INPUT', 'Give either line or offset', {
        suggestions: ['line finds where a line starts, offset which line a byte is in.'],
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
