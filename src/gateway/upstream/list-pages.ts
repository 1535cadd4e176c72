import { type Json, UpstreamFault, type UpstreamLink } from '../../wire/upstream/link.ts';

const MOST_PAGES = 100;
const MOST_ITEMS = 10_000;

/**
 * Every page of a list, as it came. A server that goes on for ever is cut off. Null: it answers that it cannot, on whatever
 * page: a part of a list says nothing of the rest.
 */
export async function listPages(
  link: UpstreamLink,
  method: string,
  field: string,
  timeoutMs: number,
): Promise<unknown[] | null> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES && items.length < MOST_ITEMS; page++) {
    const answer: Json | null = await ask(link, method, cursor, timeoutMs);
    if (answer === null) return null;
    const found = answer[field];
    if (Array.isArray(found)) for (const item of found.slice(0, MOST_ITEMS - items.length)) items.push(item);
    const next = answer.nextCursor;
    if (typeof next !== 'string' || seen.has(next)) break;
    seen.add(next);
    cursor = next;
  }
  return items;
}

async function ask(
  link: UpstreamLink,
  method: string,
  cursor: string | null,
  timeoutMs: number,
): Promise<Json | null> {
  try {
    return await link.request(method, cursor === null ? {} : { cursor }, { timeoutMs });
  } catch (error) {
    if (error instanceof UpstreamFault && error.kind === 'answer') return null;
    throw error;
  }
}
