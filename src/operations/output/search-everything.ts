import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { RunCard } from '../../schema/run-card.ts';
import { type Call, operation } from '../operation.ts';
import { listBoard } from '../runs/list-board.ts';
import { searchDecisions } from '../team/team-decisions.ts';
import { searchNewest } from './newest-outputs.ts';

/** Runs by what they are about, decisions of the caller's folder, and what the newest runs wrote: one answer for words somebody remembers. */
export const searchEverything = operation({
  name: 'search_everything',
  route: 'GET /search',
  agents: null,
  tool: null,
  input: z.strictObject({
    /** Of runs all of its words, of decisions as its own search has it, of output exactly this, upper and lower case alike. */
    q: z.string().trim().min(1).max(400),
    /** Only runs of this one. */
    workspace: z.string().optional(),
    /** Of each kind. */
    limit: z.number().int().min(1).max(100).default(20),
  }),
  output: z.object({
    runs: z.array(RunCard),
    runsTotal: z.number(),
    /** Null: the caller is in no folder. */
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
    outputs: z.array(
      z.object({
        runId: z.string(),
        title: z.string(),
        roleId: z.string().nullable(),
        subagent: z.string().nullable(),
        engine: z.string(),
        turn: z.number(),
        stream: z.enum(['stdout', 'stderr']),
        matches: z.array(z.object({ line: z.number(), text: z.string(), column: z.number() })),
        isMore: z.boolean(),
      }),
    ),
    /** Of which runs the output was read to its end, newest first, and why no more. */
    searched: z.object({
      runs: z.number(),
      since: z.number().nullable(),
      stoppedBy: z.enum(['time', 'count', 'enough']).nullable(),
    }),
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
