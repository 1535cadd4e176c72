import { sep } from 'node:path';
import { Baseline } from '../../schema/evidence.ts';
import type { Run } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { TurnRef } from '../ports/turns.ts';
import type { FolderChanges } from '../ports/worktrees.ts';
import type { LiveRun } from '../runs/live-run.ts';
import { parseJson } from '../text.ts';

/**
 * Maximum time that the agent's start waits for the snapshot of its folder. In a huge repository the snapshot is
 * late, and the evidence says so.
 */
const BASELINE_TIMEOUT_MS = 150;
const FILE = 'before.json';

/** Snapshots in progress by folder. Runs that start together in one folder share a snapshot. */
const pending = new Map<string, Promise<Baseline>>();

export function takeBaseline(directory: string, workTree: FolderChanges): Promise<Baseline> {
  const already = pending.get(directory);
  if (already) return already;
  const baseline = workTree
    .snapshot(directory)
    .catch((thrown: unknown) => ({ snapshot: null, why: String(thrown) }))
    .finally(() => pending.delete(directory));
  pending.set(directory, baseline);
  return baseline;
}

/** Snapshot of the run's folder. Null for a folder on another machine. */
export function baselineOf(
  { directory, worktree, options }: Run,
  workTree: FolderChanges,
): Promise<Baseline> {
  if (options.machine === null || worktree) return takeBaseline(directory, workTree);
  return Promise.resolve({ snapshot: null, why: `its folder is on ${options.machine}` });
}

/**
 * Writes the baseline to disk before the agent starts, so that the next hub knows it too. Returns null if the
 * snapshot takes too long. It is then written later.
 */
export async function saveBaseline(
  entry: LiveRun,
  turn: TurnRef,
  taken: Promise<Baseline>,
  { files, warn }: { files: RunFiles; warn(message: string, cause: unknown): void },
): Promise<Baseline | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, BASELINE_TIMEOUT_MS, null);
  });
  const baseline = await Promise.race([taken, late]);
  clearTimeout(timer);
  const write = async (found: Baseline) => {
    // A folder outside any repository has no snapshot, and the next hub finds that out itself.
    if (found.snapshot) await files.write(turn, FILE, JSON.stringify(found));
  };
  if (baseline) await write(baseline);
  else
    void taken
      .then(async found => {
        entry.baseline = found;
        await write(found);
      })
      .catch(thrown => warn(`The snapshot of the folder of ${turn.runId} could not be written`, thrown));
  return baseline;
}

export async function loadBaseline(files: RunFiles, turn: TurnRef): Promise<Baseline> {
  const text = await files.read(turn, FILE);
  const parsed = Baseline.safeParse(text === null ? null : parseJson(text));
  return parsed.success
    ? parsed.data
    : { snapshot: null, why: 'there is no snapshot of its folder from before' };
}

type Place = Pick<Run, 'directory'>;

export function usesSameFolder({ directory: a }: Place, { directory: b }: Place): boolean {
  return a === b || a.startsWith(b + sep) || b.startsWith(a + sep);
}
