import type { Baseline, WorkChanges, WorkDiff, WorkSnapshot } from '../../schema/evidence.ts';

/** Changes of the files in a run's folder, as Git tells them. Throws only where noted. */
export interface FolderChanges {
  /** One short Git process, because the start of the agent waits for it. */
  snapshot(directory: string, signal?: AbortSignal): Promise<Baseline>;
  changes(directory: string, before: WorkSnapshot, options?: WorkPlace): Promise<WorkChanges>;
  /** Between two commits of a repository, for a folder that is gone. Both throw DIFF_UNAVAILABLE. */
  commitChanges(repository: string, from: string, to: string): Promise<Pick<WorkChanges, 'files' | 'lines'>>;
  commitDiff(repository: string, from: string, to: string, options: { maxBytes: number }): Promise<WorkDiff>;
  /** Throws DIFF_UNAVAILABLE. */
  diff(directory: string, before: WorkSnapshot, options: WorkPlace & { maxBytes: number }): Promise<WorkDiff>;
}

export interface WorkPlace {
  /** Its team files are not counted: Squad itself keeps them up to date. */
  workspace?: string;
  /** The run's own branch: what the run commits elsewhere is not counted. */
  branch?: string;
}
