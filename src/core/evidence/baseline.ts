import { sep } from 'node:path';
import { Baseline } from '../../schema/evidence.ts';
import type { Run } from '../../schema/run.ts';
import type { FolderChanges } from '../ports/changes.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';
import type { LiveRun } from '../runs/live-run.ts';
import { parseJson } from '../text.ts';

/** An agent is not kept waiting longer than this for a look at its folder: in a huge repository the look comes late, and the evidence says so. */
const BASELINE_TIMEOUT_MS = 150;
const FILE = 'before.json';

/** Runs that start together in one folder are looked at together. */
const looking = new Map<string, Promise<Baseline>>();

export function takeBaseline(directory: string, workTree: FolderChanges): Promise<Baseline> {
  const already = looking.get(directory);
  if (already) return already;
  const look = workTree
    .snapshot(directory)
    .catch((thrown: unknown) => ({ snapshot: null, why: String(thrown) }))
    .finally(() => looking.delete(directory));
  looking.set(directory, look);
  return look;
}

/** On disk before the agent starts, so that the next hub knows it too; later only if it took too long. */
export async function saveBaseline(
  entry: LiveRun,
  turn: TurnRef,
  look: Promise<Baseline>,
  { files, warn }: { files: RunFiles; warn(message: string, cause: unknown): void },
): Promise<Baseline | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>(settle => {
    timer = setTimeout(settle, BASELINE_TIMEOUT_MS, null);
  });
  const baseline = await Promise.race([look, late]);
  clearTimeout(timer);
  const keep = async (found: Baseline) => {
    // Of a folder that git knows nothing of there is nothing to keep: the next look says the same.
    if (found.snapshot) await files.write(turn, FILE, JSON.stringify(found));
  };
  if (baseline) await keep(baseline);
  else
    void look
      .then(async found => {
        entry.baseline = found;
        await keep(found);
      })
      .catch(thrown => warn(`The folder of ${turn.runId} as it was could not be kept`, thrown));
  return baseline;
}

/** What was kept. */
export async function loadBaseline(files: RunFiles, turn: TurnRef): Promise<Baseline> {
  const text = await files.read(turn, FILE);
  const parsed = Baseline.safeParse(text === null ? null : parseJson(text));
  return parsed.success ? parsed.data : { snapshot: null, why: 'its folder as it was before is not known' };
}

type Place = Pick<Run, 'directory'>;

export function usesSameFolder({ directory: a }: Place, { directory: b }: Place): boolean {
  return a === b || a.startsWith(b + sep) || b.startsWith(a + sep);
}
