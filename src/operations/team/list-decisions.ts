import { z } from 'zod';
import { nearest } from '../../base/nearest.ts';
import type { Decision } from '../../core/team/decisions.ts';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';
import { searchDecisions } from './team-decisions.ts';

const Listed = z.object({
  id: z.string(),
  title: z.string(),
  date: z.string().nullable(),
  by: z.string().nullable(),
  what: z.string().nullable(),
  why: z.string().nullable(),
  text: z.string(),
  file: z.string(),
  merged: z.boolean(),
  snippet: z.string().optional(),
});

/** Decisions for the terminal: all, newest first; those a search finds, best first; or the one with that id. */
export const listDecisions = operation({
  name: 'list_decisions',
  route: 'GET /decisions',
  agents: 'always',
  tool: null,
  input: z.strictObject({
    id: z.string().optional(),
    search: z.string().optional(),
    limit: z.number().int().min(1).max(1000).default(20),
  }),
  output: z.object({ decisions: z.array(Listed), total: z.number(), notes: z.array(z.string()) }),
  async run({ services, caller }, { id, search, limit }) {
    if (search?.trim() === '')
      throw new SquadError('INVALID_INPUT', 'The search has no words', {
        suggestions: ['squad decisions --search WORDS', 'squad decisions   shows all of them'],
      });
    if (search !== undefined) {
      const { found, total, notes } = await searchDecisions(services, caller, search, limit);
      return { decisions: found.map(({ decision, snippet }) => ({ ...decision, snippet })), total, notes };
    }
    const { team } = await services.workspaces.open(caller);
    const { decisions, notes } = await team.decisions();
    if (id !== undefined) return { decisions: [named(decisions, id)], total: 1, notes: [] };
    return { decisions: decisions.slice(0, limit), total: decisions.length, notes };
  },
});

/** By its id, or any beginning of it that only one has. */
function named(decisions: readonly Decision[], given: string): Decision {
  const wanted = given.startsWith('d-') ? given : `d-${given}`;
  const exact = decisions.find(({ id }) => id === wanted);
  const alike = exact ? [exact] : decisions.filter(({ id }) => wanted !== 'd-' && id.startsWith(wanted));
  if (alike.length === 1) return alike[0]!;
  const near = nearest(
    wanted,
    decisions.map(({ id }) => id),
  );
  throw new SquadError(
    'DECISION_UNKNOWN',
    alike.length > 1 ? `${given} is the beginning of several ids` : `There is no decision ${given}`,
    {
      suggestions: [
        alike.length > 1
          ? `Give more of it: ${alike
              .slice(0, 5)
              .map(({ id }) => id)
              .join(', ')}`
          : near.length > 0
            ? `Did you mean ${near.join(' or ')}?`
            : '`squad decisions` shows the ids, `squad decisions --search WORDS` finds one by its words.',
      ],
    },
  );
}
