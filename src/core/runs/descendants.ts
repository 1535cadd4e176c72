import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { Store } from '../ports/store.ts';

/** Limit for following parents. No real chain is longer, but a loop in a damaged database would be. */
export const MAX_LINE_LENGTH = 100;
const ALL_RUNS = 100_000;

/** All runs that a run started, directly or indirectly, ended or not. Ordered by generation. */
export async function descendantsOf(store: Pick<Store, 'runs'>, id: RunId): Promise<Run[]> {
  const found = new Map<RunId, Run>();
  let parents = [id];
  for (let i = 0; parents.length > 0 && i < MAX_LINE_LENGTH; i++) {
    const children = await Promise.all(parents.map(parentId => store.runs({ parentId, limit: ALL_RUNS })));
    const fresh = children.flat().filter(child => child.id !== id && !found.has(child.id));
    for (const child of fresh) found.set(child.id, child);
    parents = fresh.map(child => child.id);
  }
  return [...found.values()];
}
