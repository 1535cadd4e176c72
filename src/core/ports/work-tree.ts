import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/work.ts';

/** The files a run works on. Needs git to say anything; never throws except from `diff`. */
export interface WorkTree {
  /** One short git process, because it is on the way to an agent's start. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot): Promise<WorkChanges>;
  /** Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: { maxBytes: number }): Promise<WorkDiff>;
}
