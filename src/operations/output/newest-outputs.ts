import type { OutputStream } from '../../core/ports/run-files.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { searchTurn } from './output-search.ts';

const MOST_RUNS = 50;
const MOST_MS = 2_000;
/** Of one output: whoever wants more looks into it. */
const MOST_LINES = 3;
const STREAMS: readonly OutputStream[] = ['stdout', 'stderr'];

export interface FoundOutput {
  runId: string;
  title: string;
  roleId: string | null;
  subagent: string | null;
  engine: string;
  turn: number;
  stream: OutputStream;
  matches: { line: number; text: string; column: number }[];
  isMore: boolean;
}

export interface FoundOutputs {
  found: FoundOutput[];
  /** How far back it was looked. */
  searched: {
    runs: number;
    /** When the oldest of them was asked for; null: none was. */
    since: number | null;
    /** Why it went no further; null: there was nothing more. */
    stoppedBy: 'time' | 'count' | 'enough' | null;
  };
}

interface Wanted {
  q: string;
  workspace: string | undefined;
  /** So many outputs with something in them are enough. */
  limit: number;
  signal: AbortSignal;
}

/** Output of the newest runs with these words in it, newest first. It says what it left out: all output there is may be any size. */
export async function searchNewest(services: Services, wanted: Wanted): Promise<FoundOutputs> {
  const { q, workspace, limit, signal } = wanted;
  const { clock, store } = services;
  const until = clock.monotonic() + MOST_MS;
  const runs = await store.runs({ workspace, limit: MOST_RUNS + 1 });
  const found: FoundOutput[] = [];
  let whole = 0;
  const answer = (stoppedBy: FoundOutputs['searched']['stoppedBy']): FoundOutputs => ({
    found,
    searched: { runs: whole, since: runs[whole - 1]?.createdAt ?? null, stoppedBy },
  });
  for (const run of runs.slice(0, MOST_RUNS)) {
    for (const place of outputsOf(run)) {
      const budgetMs = until - clock.monotonic();
      if (budgetMs <= 0 || signal.aborted) return answer('time');
      if (found.length >= limit) return answer('enough');
      const query = { q, isRegex: false, isCaseSensitive: false, after: 0, limit: MOST_LINES, budgetMs };
      const { matches, next } = await searchTurn(services, run, { ...place, readable: true }, query);
      if (matches.length > 0) found.push(foundIn(run, place, matches, next !== null));
      if (next !== null && matches.length < MOST_LINES) return answer('time');
    }
    whole++;
  }
  return answer(runs.length > MOST_RUNS ? 'count' : null);
}

type Place = Pick<FoundOutput, 'turn' | 'stream'>;

/** The newest turn first. */
function* outputsOf(run: Run): Iterable<Place> {
  for (let turn = run.turn; turn >= 1; turn--) for (const stream of STREAMS) yield { turn, stream };
}

function foundIn(run: Run, place: Place, matches: FoundOutput['matches'], isMore: boolean): FoundOutput {
  const { id, roleId, engine, options } = run;
  return {
    ...{ runId: id, title: runSummary(run), roleId, subagent: options.subagent, engine },
    ...place,
    matches: matches.map(({ line, text, column }) => ({ line, text, column })),
    isMore,
  };
}
