import type { Verdict } from '../../schema/evidence.ts';
import type { EndStatus } from '../../schema/run.ts';

/**
 * One word for how far a run's claim can be trusted. The first row that fits decides; docs/guides/evidence.md has the same
 * table.
 *
 * | The run       | What Squad saw                                                              | Word         |
 * | ------------- | --------------------------------------------------------------------------- | ------------ |
 * | any           | its structured answer does not fit the schema                               | contradicted |
 * | not completed | neither output nor changes                                                  | empty        |
 * | not completed | output or changes, not verified                                             | claimed      |
 * | completed     | its exit code is not 0, and not that of a signal which ended it afterwards   | contradicted |
 * | completed     | nothing backs it, and tool calls were denied or all of them failed          | contradicted |
 * | completed     | files changed, commits, or a structured answer that fits the schema         | verified     |
 * | completed     | output only, edits the engine reported and git does not show, or work on another branch than the run's | claimed |
 * | completed     | nothing                                                                     | empty        |
 *
 * *Verified* says that something happened, not that it is right.
 */
export function verdict(facts: VerdictFacts): Verdict {
  const hasChanges = (facts.filesChanged ?? 0) > 0 || (facts.commits ?? 0) > 0;
  const hasAnything = facts.hasOutput || hasChanges || (facts.reportedEdits ?? 0) > 0;
  if (facts.structured === 'invalid') return 'contradicted';
  if (facts.status !== 'completed') return hasAnything ? 'claimed' : 'empty';
  if (facts.exitCode !== null && !HARMLESS_EXITS.has(facts.exitCode)) return 'contradicted';
  const isBacked = facts.structured === 'valid' || (hasChanges && areItsOwn(facts));
  if (!isBacked && wasObstructed(facts)) return 'contradicted';
  if (isBacked) return 'verified';
  return hasAnything ? 'claimed' : 'empty';
}

/** Success, and being killed (HUP, INT, KILL, TERM): a run is only completed if it had reported its success before. */
const HARMLESS_EXITS = new Set([0, 129, 130, 137, 143]);

export interface VerdictFacts {
  status: EndStatus;
  exitCode: number | null;
  /** The answer, or any output of an engine without answers, is more than white space. */
  hasOutput: boolean;
  /** Null when the run has no schema. */
  structured: 'valid' | 'invalid' | null;
  /** Null when unknown. */
  filesChanged: number | null;
  commits: number | null;
  /** This and the next three are null when the engine reports none. */
  toolCalls: number | null;
  toolFailures: number | null;
  toolDenials: number | null;
  /** File-changing tool calls the engine reported as done. */
  reportedEdits: number | null;
  /** Other runs worked in the same folder meanwhile: changes may be theirs. */
  isShared: boolean;
  /** The work tree is not on the run's own branch: its changes are not what the run delivers. */
  isElsewhere: boolean;
}

/** In a shared folder the engine must have reported edits too: changes alone could be another run's. */
const areItsOwn = ({ isShared, isElsewhere, reportedEdits }: VerdictFacts): boolean =>
  !isElsewhere && (!isShared || (reportedEdits ?? 0) > 0);

function wasObstructed({ toolCalls, toolFailures, toolDenials }: VerdictFacts): boolean {
  const allFailed = toolCalls !== null && toolCalls > 0 && toolFailures === toolCalls;
  return allFailed || (toolDenials ?? 0) > 0;
}
