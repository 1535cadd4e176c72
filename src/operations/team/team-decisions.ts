import { oneLine } from '../../base/one-line.ts';
import type { TextDocument } from '../../core/ports/text-search.ts';
import type { Caller } from '../../core/ports/workspace.ts';
import type { Decision } from '../../core/team/decisions.ts';
import { plainWords } from '../../core/team/team-markdown.ts';
import type { Services } from '../operation.ts';

export interface FoundDecisions {
  /** Best first. */
  found: { decision: Decision; snippet: string; score: number }[];
  total: number;
  /** What the files are odd in, and how the words were taken. */
  notes: string[];
}

const HOW = {
  all: [],
  some: ['No decision has all of these words: these have some of them.'],
  part: ['Not found as words; looked for as a part of the text.'],
} as const;

/** The decisions of a workspace that somebody's words are about. */
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
  if (!result) return { found: [], total: 0, notes: ['Nothing to look for: give a word.', ...notes] };
  const byId = new Map(decisions.map(decision => [decision.id, decision]));
  const found = result.hits.flatMap(({ id, snippet, score }) => {
    const decision = byId.get(id);
    return decision ? [{ decision, snippet: beyondTitle(snippet, decision), score }] : [];
  });
  return { found, total: result.total, notes: [...(result.total > 0 ? HOW[result.match] : []), ...notes] };
}

/** One at a time: plain words of a thousand decisions at once would keep everybody waiting. */
function* documentsOf(decisions: readonly Decision[]): Iterable<TextDocument> {
  for (const { id, title, by, text } of decisions) yield { id, title, author: by, text: plainWords(text) };
}

const LONGEST = { title: 1_000, snippet: 160 };

/** Words that only repeat the title tell nobody anything: then the beginning of the text, where there is one. */
function beyondTitle(snippet: string, { title, what, text }: Decision): string {
  const words = snippet.replaceAll('…', ' ').trim();
  const body = oneLine(plainWords(what ?? text), LONGEST.snippet);
  return body !== '' && oneLine(title, LONGEST.title).includes(words) ? body : snippet;
}
