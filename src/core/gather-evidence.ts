import type { Evidence } from '../schema/evidence.ts';
import type { EndStatus, Run } from '../schema/run.ts';
import { evidenceOf } from './evidence.ts';
import type { LiveRun } from './live-run.ts';
import type { RunFiles, TurnEnd, WorkTree } from './ports.ts';

export interface EvidencePorts {
  files: RunFiles;
  workTree: WorkTree;
}

/** Enough to see whether an output is more than white space. */
const PEEK_BYTES = 4_096;

/** Looks at what a turn that has ended left, and makes evidence of it. */
export async function gatherEvidence(
  { run, report, baseline, neighbours, turnNumber }: LiveRun,
  end: TurnEnd,
  status: EndStatus,
  { files, workTree }: EvidencePorts,
): Promise<Evidence> {
  const turn = { runId: run.id, number: turnNumber };
  const words = report.end?.answer ?? (await files.page(turn, 'stdout', 0, PEEK_BYTES)).text;
  return evidenceOf({
    status,
    exitCode: end.exitCode,
    durationMs: run.startedAt === null ? null : Math.max(0, end.endedAt - run.startedAt),
    leftoversKilled: end.leftovers.length,
    hasWords: words.trim() !== '',
    structured: structuredOf(run, status),
    tools: report.tools,
    baseline,
    changes: baseline?.snapshot ? await workTree.changes(run.directory, baseline.snapshot) : null,
    startedAt: run.startedAt,
    otherRuns: neighbours.size,
  });
}

/** An answer that does not keep to its schema is an error already: a run that completed has a valid one. */
function structuredOf({ options }: Run, status: EndStatus): 'valid' | null {
  return options.outputSchema !== null && status === 'completed' ? 'valid' : null;
}
