import type { RunId, SquadId } from '../../schema/ids.ts';
import type { Run, Turn } from '../../schema/run.ts';

export interface BoardFilter {
  workspace?: string;
  squadId?: SquadId;
  /** Words that are all in its task, title, role, subagent, engine, model or id. */
  q?: string;
}

export interface EndedFilter extends BoardFilter {
  /**
   * `failed`: ended as nobody wished within a day before `at`, and its task was not taken up again by then; `done`: every
   * other. Or, whenever it was: `failed_ever` and `never_failed`.
   */
  part: 'failed' | 'done' | 'failed_ever' | 'never_failed';
  at: number;
  /** Only those that come after this one. */
  after?: Pick<Run, 'createdAt' | 'id'>;
  limit: number;
}

/** What lists of runs for people are made of. */
export interface BoardStore {
  /** Newest first. */
  endedRuns(filter: EndedFilter): Promise<Run[]>;
  countEnded(filter: BoardFilter, at: number): Promise<{ failed: number; done: number }>;
  /** Completed with an error within a week before `at`, and their task was not taken up again since: newest first. */
  leftWithError(filter: BoardFilter, at: number): Promise<Run[]>;
  /** Those that have not ended. */
  liveIds(filter: BoardFilter): Promise<Set<RunId>>;
  /** Of these ended runs, those whose task was taken up again after their end. */
  takenUp(ids: readonly RunId[]): Promise<Set<RunId>>;
  /** Of ended runs that were asked for since then. Null: nothing was reported. `unreported`: started, and nobody knows what they cost. */
  spending(since: number): Promise<{ costUsd: number | null; isEstimated: boolean; unreported: number }>;
  /** Every workspace that has runs, the one of the newest first. */
  workspaces(): Promise<{ path: string; runs: number; lastRunAt: number }[]>;
  /** Of each run first to last. */
  turnsOf(ids: readonly RunId[]): Promise<Turn[]>;
  /** The number of the newest event; 0: there is none. */
  lastEvent(): Promise<number>;
}
