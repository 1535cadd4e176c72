import { z } from 'zod';
import { firstThatFit } from '../../core/output/digest.ts';
import { operation } from '../operation.ts';
import { RESULT_LIMIT } from '../runs/member-result.ts';
import { searchDecisions } from './team-decisions.ts';

const MOST = 20;
const ROOM_FOR_REST = 800;
const LONGEST_NOTE = 600;

export const decisionSearch = operation({
  name: 'squad_decision_search',
  route: 'POST /tools/squad_decision_search',
  agents: 'always',
  tool: {
    title: 'Search decisions',
    description: 'Decisions of this project\'s team, best match first. Words, "phrases", begin*.',
    readOnly: true,
    toolset: 'team',
    isDefaultWithTeam: true,
    listed: {
      output: z.object({
        decisions: z.array(z.looseObject({})),
        total: z.number(),
        note: z.string().optional(),
      }),
    },
  },
  input: z.strictObject({ query: z.string() }),
  output: z.object({
    decisions: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        by: z.string().nullable(),
        date: z.string().nullable(),
        snippet: z.string(),
        file: z.string(),
        score: z.number(),
      }),
    ),
    total: z.number(),
    note: z.string().optional(),
  }),
  async run({ services, caller }, { query }) {
    const { found, total, notes } = await searchDecisions(services, caller, query, MOST);
    const listed = found.map(({ decision: { id, title, by, date, file }, snippet, score }) => ({
      ...{ id, title, by, date, snippet, file: `.squad/${file}`, score },
    }));
    const shown = firstThatFit(listed, RESULT_LIMIT - ROOM_FOR_REST);
    const said = [
      ...notes,
      ...(shown.length < total ? [`${total - shown.length} more are not shown: add words.`] : []),
    ]
      .join(' ')
      .slice(0, LONGEST_NOTE);
    return { decisions: shown, total, ...(said !== '' && { note: said.toWellFormed() }) };
  },
});
