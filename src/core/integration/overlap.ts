import { z } from 'zod';
import { RunId } from '../../schema/ids.ts';

/** Files that one run has changed, as paths from the root of its repository. */
export interface Touching {
  runId: RunId;
  files: readonly string[];
}

export const Overlap = z.object({
  /** Files that more than one run has changed, sorted by the number of runs. */
  files: z.array(z.object({ path: z.string(), runs: z.array(RunId) })),
  /** Pairs of runs that have changed the same files, sorted by the number of files. */
  pairs: z.array(z.object({ runs: z.tuple([RunId, RunId]), files: z.number() })),
});
export type Overlap = z.infer<typeof Overlap>;

export function overlapOf(touching: readonly Touching[]): Overlap {
  const runsOf = new Map<string, Set<RunId>>();
  for (const { runId, files } of touching)
    for (const path of files) runsOf.set(path, (runsOf.get(path) ?? new Set()).add(runId));
  const files = [...runsOf]
    .filter(([, runs]) => runs.size > 1)
    .map(([path, runs]) => ({ path, runs: [...runs].sort() }))
    .sort((a, b) => b.runs.length - a.runs.length || inOrder(a.path, b.path));
  return { files, pairs: pairsOf(files) };
}

function pairsOf(files: Overlap['files']): Overlap['pairs'] {
  const pairs = new Map<string, Overlap['pairs'][number]>();
  for (const { runs } of files)
    for (const [at, first] of runs.entries())
      for (const second of runs.slice(at + 1)) {
        const key = `${first} ${second}`;
        const pair = pairs.get(key) ?? { runs: [first, second], files: 0 };
        pairs.set(key, { ...pair, files: pair.files + 1 });
      }
  return [...pairs]
    .sort(([a, one], [b, other]) => other.files - one.files || inOrder(a, b))
    .map(([, pair]) => pair);
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
