import { z } from 'zod';
import type { OutputStream } from '../../core/ports/run-files.ts';
import { SquadError } from '../../schema/error.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { RunCard } from '../../schema/run-card.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { listBoard } from '../runs/list-board.ts';
import { searchDecisions } from '../team/decisions.ts';
import { searchTurn } from './read-output.ts';

const MAX_RUNS = 50;
const MAX_MS = 2_000;
/** Maximum number of matching lines per output. */
const MAX_LINES = 3;
const STREAMS: readonly OutputStream[] = ['stdout', 'stderr'];

const FoundOutput = z.object({
  runId: z.string(),
  title: z.string(),
  roleId: z.string().nullable(),
  subagent: z.string().nullable(),
  engine: z.string(),
  turn: z.number(),
  stream: z.enum(['stdout', 'stderr']),
  matches: z.array(z.object({ line: z.number(), text: z.string(), column: z.number() })),
  isMore: z.boolean(),
});
type FoundOutput = z.infer<typeof FoundOutput>;

/** Number of runs whose output was searched completely, and why the search ended there. */
const Searched = z.object({
  runs: z.number(),
  /** Creation time of the oldest searched run. Null if there is none. */
  since: z.number().nullable(),
  /** Why the search stopped. Null if there was nothing more to search. */
  stoppedBy: z.enum(['time', 'count', 'enough']).nullable(),
});

interface FoundOutputs {
  found: FoundOutput[];
  searched: z.infer<typeof Searched>;
}

interface Wanted {
  q: string;
  workspace: string | undefined;
  /** Maximum number of outputs with matches. The search stops there. */
  limit: number;
  signal: AbortSignal;
}

/**
 * Searches the output of the newest runs, newest first. Reports what was left out, because all output together may have
 * any size.
 */
export async function searchNewest(services: Services, wanted: Wanted): Promise<FoundOutputs> {
  const { q, workspace, limit, signal } = wanted;
  const { clock, store } = services;
  const until = clock.monotonic() + MAX_MS;
  const runs = await store.runs({ workspace, limit: MAX_RUNS + 1 });
  const found: FoundOutput[] = [];
  let whole = 0;
  const answer = (stoppedBy: FoundOutputs['searched']['stoppedBy']): FoundOutputs => ({
    found,
    searched: { runs: whole, since: runs[whole - 1]?.createdAt ?? null, stoppedBy },
  });
  for (const run of runs.slice(0, MAX_RUNS)) {
    for (const place of outputsOf(run)) {
      const budgetMs = until - clock.monotonic();
      if (budgetMs <= 0 || signal.aborted) return answer('time');
      if (found.length >= limit) return answer('enough');
      const query = { q, isRegex: false, isCaseSensitive: false, after: 0, limit: MAX_LINES, budgetMs };
      const { matches, next } = await searchTurn(services, run, { ...place, readable: true }, query);
      if (matches.length > 0) found.push(foundIn(run, place, matches, next !== null));
      if (next !== null && matches.length < MAX_LINES) return answer('time');
    }
    whole++;
  }
  return answer(runs.length > MAX_RUNS ? 'count' : null);
}

type Place = Pick<FoundOutput, 'turn' | 'stream'>;

/** Outputs of a run, the newest turn first. */
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

/** Searches runs by their task, decisions of the caller's workspace, and the output of the newest runs. */
export const searchEverything = operation({
  name: 'search_everything',
  route: 'GET /search',
  input: z.strictObject({
    /**
     * Search text. Runs must contain all of its words, and output must contain exactly this text, ignoring case.
     * Decisions use their own search.
     */
    q: z.string().trim().min(1).max(400),
    workspace: z.string().optional(),
    /** Maximum number of results of each kind. */
    limit: z.number().int().min(1).max(100).default(20),
  }),
  output: z.object({
    runs: z.array(RunCard),
    runsTotal: z.number(),
    /** Matching decisions. Null if the caller is in no workspace. */
    decisions: z
      .object({
        found: z.array(
          z.object({
            id: z.string(),
            title: z.string(),
            date: z.string().nullable(),
            by: z.string().nullable(),
            snippet: z.string(),
          }),
        ),
        total: z.number(),
        notes: z.array(z.string()),
      })
      .nullable(),
    outputs: z.array(FoundOutput),
    searched: Searched,
  }),
  async run(call, { q, workspace, limit }) {
    const [board, decisions, { found, searched }] = await Promise.all([
      listBoard.run(call, { q, workspace, limit }),
      decisionsOf(call, q, limit),
      searchNewest(call.services, { q, workspace, limit, signal: call.signal }),
    ]);
    return {
      runs: board.runs,
      runsTotal: Object.values(board.counts).reduce((sum, count) => sum + count, 0),
      decisions,
      outputs: found,
      searched,
    };
  },
});

async function decisionsOf({ services, caller }: Call, q: string, limit: number) {
  try {
    const { found, total, notes } = await searchDecisions(services, caller, q, limit);
    const shown = found.map(({ decision: { id, title, date, by }, snippet }) => ({
      ...{ id, title, date, by, snippet },
    }));
    return { found: shown, total, notes };
  } catch (thrown) {
    if (thrown instanceof SquadError && /^WORKSPACE_/.test(thrown.code)) return null;
    throw thrown;
  }
}
