import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/evidence.ts';

/** The files a run works on. Needs git to say anything; never throws except where it is said. */
export interface FolderChanges {
  /** One short git process, because it is on the way to an agent's start. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot, options?: WorkPlace): Promise<WorkChanges>;
  /** Between two commits of a repository, for a folder that is gone. Both throw DIFF_UNAVAILABLE. */
  commitChanges(repository: string, from: string, to: string): Promise<Pick<WorkChanges, 'files' | 'lines'>>;
  commitDiff(repository: string, from: string, to: string, options: { maxBytes: number }): Promise<WorkDiff>;
  /** Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: WorkPlace & { maxBytes: number }): Promise<WorkDiff>;
}

export interface WorkPlace {
  /** The team files that Squad itself keeps there are nobody's work. */
  workspace?: string;
  /** Of a run that has one of its own: what it commits elsewhere is not its work. */
  branch?: string;
}
