import { sep } from 'node:path';
import type { Evidence } from '../../schema/evidence.ts';
import type { EndStatus, Run, RunError } from '../../schema/run.ts';
import type { WorkTree } from '../ports/changes.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { TurnEnd } from '../ports/turns.ts';
import type { LiveRun } from '../runs/live-run.ts';
import { sharesFolder } from './baseline.ts';
import { evidenceOf } from './evidence.ts';

export interface EvidencePorts {
  files: RunFiles;
  store: Store;
  workTree: WorkTree;
  /** Those that have not ended. */
  liveRuns(): Run[];
}

/** How a run ends, as far as it is decided. */
export interface Ending {
  status: EndStatus;
  error: RunError | null;
  end: TurnEnd;
}

/** Enough to see whether an output is more than white space. */
const PEEK_BYTES = 4_096;
const MOST_OTHERS = 1_000;

/** Looks at what a turn that has ended left, and makes evidence of it. */
export async function gatherEvidence(
  entry: LiveRun,
  ending: Ending,
  ports: EvidencePorts,
): Promise<Evidence> {
  const { run, report, baseline, turnNumber, engine } = entry;
  const { status, error, end } = ending;
  const { files, workTree } = ports;
  const turn = { runId: run.id, number: turnNumber };
  const words = engine.reader ? report.answer : (await files.page(turn, 'stdout', 0, PEEK_BYTES)).text;
  return evidenceOf({
    status,
    exitCode: end.exitCode,
    durationMs: run.startedAt === null ? null : Math.max(0, end.endedAt - run.startedAt),
    leftoversKilled: end.leftovers.length,
    hasWords: words.trim() !== '',
    structured: structuredOf(run, status, error),
    tools: report.tools,
    baseline,
    changes: baseline?.snapshot
      ? await workTree.changes(run.directory, baseline.snapshot, {
          workspace: run.workspace,
          branch: run.worktree?.branch,
        })
      : null,
    startedAt: run.startedAt,
    // Written down at the end of the turn before, and there again after a restart.
    earlier: turnNumber > 1 ? run.evidence : null,
    otherRuns: await countOthers(entry, end, ports),
  });
}

function structuredOf(
  { options }: Run,
  status: EndStatus,
  error: RunError | null,
): 'valid' | 'invalid' | null {
  if (options.outputSchema === null) return null;
  if (error?.code === 'OUTPUT_MISMATCH') return 'invalid';
  return status === 'completed' ? 'valid' : null;
}

/** Runs that were at work in the same repository, or folder, at any moment of this one: what changed may be theirs. */
async function countOthers(
  { run, baseline }: LiveRun,
  end: TurnEnd,
  { store, liveRuns }: EvidencePorts,
): Promise<number> {
  if (run.startedAt === null) return 0;
  const root = baseline?.snapshot?.root ?? null;
  const isNear = (other: Run) =>
    root === null ? sharesFolder(run, other) : `${other.directory}${sep}`.startsWith(`${root}${sep}`);
  const ended = await store.endedSince(run.startedAt, MOST_OTHERS);
  const others = [...ended, ...liveRuns()].filter(
    other =>
      other.id !== run.id && other.startedAt !== null && other.startedAt <= end.endedAt && isNear(other),
  );
  return new Set(others.map(({ id }) => id)).size;
}
