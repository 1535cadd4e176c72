import type { Input, Output } from '../../src/operations/operations.ts';
import { ApiError } from '../state/api.ts';
import type { SavedRun } from '../state/saved.ts';
import { AnsiParser } from '../ui/ansi.ts';
import { SavedOutput } from './saved-output.ts';

interface LineQuery {
  q: string;
  isRegex?: boolean | undefined;
  isCaseSensitive?: boolean | undefined;
  after?: number | undefined;
  limit?: number | undefined;
  readable?: boolean | undefined;
}

const AROUND = 200;

/** Searches the lines, without colours, for these words. */
function searchLines(output: SavedOutput, query: LineQuery) {
  const pattern = patternOf(query);
  const matches = [];
  for (const { line, offset, text } of output.lines(query.after ?? 0, query.readable ?? false)) {
    if (matches.length >= (query.limit ?? 100)) return { matches, next: offset, isComplete: false };
    const plain = withoutColours(text);
    const column = plain.search(pattern);
    if (column === -1) continue;
    const from = Math.max(0, column - AROUND);
    matches.push({ line, offset, column, text: plain.slice(from, column + AROUND).toWellFormed() });
  }
  return { matches, next: null, isComplete: true };
}

function patternOf({ q, isRegex, isCaseSensitive }: LineQuery): RegExp {
  const flags = isCaseSensitive ? 'u' : 'iu';
  try {
    return new RegExp(isRegex ? q : q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
  } catch (thrown) {
    throw new ApiError('INVALID_INPUT', `Not a regular expression: ${(thrown as Error).message}`);
  }
}

function withoutColours(text: string): string {
  const parser = new AnsiParser();
  parser.push(text);
  return parser.open.map(span => span.text).join('');
}

/** Default page sizes of lists. */
const EVENTS = 200;
const BYTES = 256 * 1024;

type OutputOf = { run: string; turn?: number | undefined; stream?: 'stdout' | 'stderr' | undefined };

/** Answers requests from a saved run. Undefined if the file does not have the answer. */
export function answersOf(saved: SavedRun): (name: string, input: object) => unknown {
  const read = new Map<SavedRun['outputs'][number], SavedOutput>();
  const shown = saved.answers.find(({ name }) => name === 'show_run')?.answer as Output<'show_run'>;
  const { turn: lastTurn, status, endedAt } = shown.run;

  return (name, input) => {
    if (name === 'list_events') return events(saved, input as Input<'list_events'>);
    if (name === 'read_output') return readOutput(input as Input<'read_output'>);
    if (name === 'locate_output') return located(input as Input<'locate_output'>);
    if (name === 'search_output') return searched(input as Input<'search_output'>);
    const one = saved.answers.find(each => each.name === name && keyOf(each.input) === keyOf(input));
    if (one?.error) throw new ApiError(one.error.code, one.error.message, one.error.suggestions);
    return one?.answer;
  };

  function readOutput(input: Input<'read_output'>): Output<'read_output'> | undefined {
    const { offset = 0, limit = BYTES, lines = false, readable = false } = input;
    const about = {
      runId: saved.run,
      status,
      isOver: endedAt !== null,
      turn: input.turn ?? lastTurn,
      lastTurn,
    };
    const page = output(input)?.read({ offset, limit, isWholeLines: lines, isReadable: readable });
    return page && { ...about, ...page };
  }

  function located(input: Input<'locate_output'>): Output<'locate_output'> | undefined {
    const place = output(input)?.locate(input);
    return place && { runId: saved.run, turn: input.turn ?? lastTurn, ...place };
  }

  function searched(input: Input<'search_output'>): Output<'search_output'> | undefined {
    const one = output(input);
    return one && { runId: saved.run, turn: input.turn ?? lastTurn, ...searchLines(one, input) };
  }

  function output({ run, turn = lastTurn, stream = 'stdout' }: OutputOf): SavedOutput | undefined {
    const kept = saved.outputs.find(each => each.turn === turn && each.stream === stream);
    if (!kept || run !== saved.run) return undefined;
    const known = read.get(kept) ?? new SavedOutput(kept);
    read.set(kept, known);
    return known;
  }
}

function events(saved: SavedRun, input: Input<'list_events'>): Output<'list_events'> | undefined {
  const { run, before = Number.POSITIVE_INFINITY, limit = EVENTS } = input;
  if (run !== saved.run) return undefined;
  const found = saved.events.filter(({ seq }) => seq < before);
  const page = found.slice(0, limit);
  return { events: page, next: found.length > limit ? page.at(-1)!.seq : null };
}

function keyOf(input: object): string {
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)));
}
