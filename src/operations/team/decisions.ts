import { z } from 'zod';
import { oneLine } from '../../base/text.ts';
import { firstThatFit } from '../../core/output/digest.ts';
import type { TextDocument } from '../../core/ports/store.ts';
import type { Caller } from '../../core/ports/workspace.ts';
import { Decision } from '../../core/team/decisions.ts';
import { withoutMarkup } from '../../core/team/team-markdown.ts';
import { didYouMean } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { runName } from '../../schema/run-text.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { RESULT_LIMIT } from '../runs/run-result.ts';

interface FoundDecisions {
  /** Matching decisions, best first. */
  found: { decision: Decision; snippet: string; score: number }[];
  total: number;
  /** Problems of the files, and remarks on how the query was read. */
  notes: string[];
}

const HOW = {
  all: [],
  some: ['No decision contains all of these words: these contain some of them.'],
  part: ['Not found as whole words; found as part of the text.'],
} as const;

/** The decisions of a workspace that match a query. */
export async function searchDecisions(
  { workspaces, search }: Services,
  caller: Caller,
  query: string,
  limit: number,
): Promise<FoundDecisions> {
  const { root, team } = await workspaces.open(caller);
  const { decisions, notes, revision } = await team.decisions();
  await search.index(root, revision, () => documentsOf(decisions));
  const result = search.search(root, query, limit);
  if (!result) return { found: [], total: 0, notes: ['The query is empty: give a word.', ...notes] };
  const byId = new Map(decisions.map(decision => [decision.id, decision]));
  const found = result.hits.flatMap(({ id, snippet, score }) => {
    const decision = byId.get(id);
    return decision ? [{ decision, snippet: beyondTitle(snippet, decision), score }] : [];
  });
  return { found, total: result.total, notes: [...(result.total > 0 ? HOW[result.match] : []), ...notes] };
}

/** Yields one decision at a time, because converting a thousand at once would block the hub. */
function* documentsOf(decisions: readonly Decision[]): Iterable<TextDocument> {
  for (const { id, title, by, text } of decisions) yield { id, title, author: by, text: withoutMarkup(text) };
}

const MAX_LENGTH = { title: 1_000, snippet: 160 };

/** A snippet that only repeats the title is replaced by the beginning of the text. */
function beyondTitle(snippet: string, { title, what, text }: Decision): string {
  const found = snippet.replaceAll('…', ' ').trim();
  const body = oneLine(withoutMarkup(what ?? text), MAX_LENGTH.snippet);
  return body !== '' && oneLine(title, MAX_LENGTH.title).includes(found) ? body : snippet;
}

/** Lists all decisions, newest first, or the matches of a search, best first, or the decision with an id. */
export const listDecisions = operation({
  name: 'list_decisions',
  route: 'GET /decisions',
  agents: 'always',
  input: z.strictObject({
    id: z.string().optional(),
    search: z.string().optional(),
    limit: z.number().int().min(1).max(1000).default(20),
  }),
  output: z.object({
    decisions: z.array(Decision.extend({ snippet: z.string().optional() })),
    total: z.number(),
    notes: z.array(z.string()),
  }),
  async run({ services, caller }, { id, search, limit }) {
    if (search?.trim() === '')
      throw new SquadError('INVALID_INPUT', 'The search is empty', {
        suggestions: [
          '`squad decisions --search WORDS` searches the decisions.',
          '`squad decisions` lists all of them.',
        ],
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

/** Finds a decision by its id or a unique prefix. */
function named(decisions: readonly Decision[], given: string): Decision {
  const wanted = given.startsWith('d-') ? given : `d-${given}`;
  const exact = decisions.find(({ id }) => id === wanted);
  const alike = exact ? [exact] : decisions.filter(({ id }) => wanted !== 'd-' && id.startsWith(wanted));
  if (alike.length === 1) return alike[0]!;
  const meant = didYouMean(
    wanted,
    decisions.map(({ id }) => id),
  );
  throw new SquadError(
    'DECISION_UNKNOWN',
    alike.length > 1 ? `${given} matches several ids` : `There is no decision ${given}`,
    {
      suggestions: [
        alike.length > 1
          ? `Give more characters: ${alike
              .slice(0, 5)
              .map(({ id }) => id)
              .join(', ')}`
          : (meant ?? '`squad decisions` shows the ids, `squad decisions --search WORDS` searches the text.'),
      ],
    },
  );
}

const MAX_FOUND = 20;
const REST_LENGTH = 800;
const MAX_NOTE_LENGTH = 600;

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
    const { found, total, notes } = await searchDecisions(services, caller, query, MAX_FOUND);
    const listed = found.map(({ decision: { id, title, by, date, file }, snippet, score }) => ({
      ...{ id, title, by, date, snippet, file: `.squad/${file}`, score },
    }));
    const shown = firstThatFit(listed, RESULT_LIMIT - REST_LENGTH);
    const note = [
      ...notes,
      ...(shown.length < total ? [`${total - shown.length} more are not shown: add words.`] : []),
    ]
      .join(' ')
      .slice(0, MAX_NOTE_LENGTH);
    return { decisions: shown, total, ...(note !== '' && { note: note.toWellFormed() }) };
  },
});

/** Maximum length of a decision. Longer text is refused instead of cut, because a decision must not lose its end. */
const MAX_RECORDED_LENGTH = { title: 200, text: 8_000 };

export const decisionRecord = operation({
  name: 'squad_decision_record',
  route: 'POST /tools/squad_decision_record',
  agents: 'record',
  tool: {
    title: 'Record a decision',
    description: "Put a decision into the team's inbox, for the others to find. Search first.",
    readOnly: false,
    toolset: 'team',
  },
  input: z.strictObject({
    title: z.string().max(MAX_RECORDED_LENGTH.title),
    what: z.string().max(MAX_RECORDED_LENGTH.text),
    why: z.string().max(MAX_RECORDED_LENGTH.text),
  }),
  output: z.object({ id: z.string(), file: z.string() }),
  async run(call, input) {
    for (const [name, text] of Object.entries(input))
      if (text.trim() === '')
        throw new SquadError('INVALID_INPUT', `The ${name} of the decision is empty`, {
          suggestions: ['Give a title, the decision in `what` and the reason in `why`.'],
        });
    const { team } = await call.services.workspaces.open(call.caller);
    return team.record({ ...input, ...(await authorOf(call)) }, new Date(call.services.clock.now()));
  },
});

/** The author of a decision as Squad knows it, not as the caller names it. */
async function authorOf({ services, caller }: Call): Promise<{ by: string; author: string }> {
  if (!caller.parent)
    return { by: caller.client === null ? 'the user' : `the user (${caller.client})`, author: 'user' };
  const name = runName(await findRun(services, caller.parent.id));
  return { by: `${name} (${caller.parent.id})`, author: name };
}
