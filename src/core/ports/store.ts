import type { Event, NewEvent } from '../../schema/event.ts';
import type { InboxId, ReviewId, RunId, SquadId } from '../../schema/ids.ts';
import type { InboxItem, InboxState } from '../../schema/inbox.ts';
import type { Intent, Review } from '../../schema/review.ts';
import type { Chat, Run, Squad, Turn } from '../../schema/run.ts';
import type { RunFigures } from '../cost/usage.ts';

/** Rows to write whole (insert or replace, by key) and events to append: all of it or none of it. */
export interface Change {
  squads?: Squad[];
  runs?: Run[];
  turns?: Turn[];
  /** Of a chat that is there: its beginning stays, and so do its totals where none are given. */
  chats?: Chat[];
  reviews?: Review[];
  intents?: Intent[];
  /** Intents that are carried out, or taken back: by id. */
  intentsDone?: string[];
  /** How many reviews a lineage may have, whatever the setting says; null puts the setting back. */
  reviewLimits?: { lineageId: RunId; limit: number | null }[];
  inbox?: InboxItem[];
  events: NewEvent[];
}

export interface InboxFilter {
  runId?: RunId;
  state?: InboxState;
  /** Only what is not open any more. */
  isSettled?: boolean;
  /** Of those that this run was asked to answer. */
  owner?: RunId;
  /** Ids that begin with this. */
  idPrefix?: string;
  limit: number;
}

export interface RunFilter {
  workspace?: string;
  squadId?: SquadId;
  /** Those that this run asked for. */
  parentId?: RunId;
  status?: Run['status'][];
  lineageId?: RunId;
  /** Only those that have a work tree to themselves. */
  hasWorktree?: true;
  /** Only runs created before this moment, for paging backwards. */
  before?: number;
  limit: number;
}

export interface ReviewFilter {
  lineageId?: RunId;
  coderId?: RunId;
  reviewerId?: RunId;
  /** Of runs in this workspace. */
  workspace?: string;
  isOpen?: true;
  limit: number;
}

export interface EventFilter {
  after?: number;
  before?: number;
  runId?: RunId;
  squadId?: SquadId;
  types?: Event['body']['type'][];
  limit: number;
  /** Newest first. */
  reverse?: boolean;
}

export interface Store extends BoardStore {
  /** Changes are applied in the order given, several to a transaction; the promise settles when this one is on disk. */
  commit(change: Change): Promise<void>;
  squad(id: SquadId): Promise<Squad | null>;
  run(id: RunId): Promise<Run | null>;
  /** Newest first, except within a squad, where it is member order. */
  runs(filter: RunFilter): Promise<Run[]>;
  /** Every run that has not ended, oldest first. */
  liveRuns(): Promise<Run[]>;
  /** Runs that have not ended and were asked to stop, in this turn or an earlier one. */
  runsAskedToStop(): Promise<Set<RunId>>;
  /** The turns of a run, first to last. */
  turns(runId: RunId): Promise<Turn[]>;
  chat(id: string): Promise<Chat | null>;
  review(id: ReviewId): Promise<Review | null>;
  /** Oldest first. */
  reviews(filter: ReviewFilter): Promise<Review[]>;
  /** Lineages with reviews that have a run which has not ended. */
  reviewedLineages(): Promise<RunId[]>;
  reviewLimit(lineageId: RunId): Promise<number | null>;
  inboxItem(id: InboxId): Promise<InboxItem | null>;
  /** Newest first. */
  inboxItems(filter: InboxFilter): Promise<InboxItem[]>;
  /** Those that were neither carried out nor taken back, oldest first. */
  intents(): Promise<Intent[]>;
  events(filter: EventFilter): Promise<Event[]>;
  /** Run and squad ids that begin with `prefix` (with or without `run_` / `squad_`), newest first. */
  idsLike(prefix: string, limit: number): Promise<string[]>;
  /** Ids of the most recent runs and squads, to suggest near ones from. */
  recentIds(limit: number): Promise<string[]>;
  /** The money of runs that were asked for between these times, or of a squad, as far as it is known. */
  spent(filter: { since?: number; until?: number; squadId?: SquadId }): Promise<number>;
  /** Only what sums are made of, newest first: of a workspace, or of all that were asked for since then. */
  figures(filter: { workspace?: string; since?: number; limit: number }): Promise<RunFigures[]>;
  settings(): Promise<Record<string, string>>;
  setSetting(key: string, value: string | null): Promise<void>;
  /** Runs that ended at this moment or later. */
  endedSince(since: number, limit: number): Promise<Run[]>;
  /** Ended runs that ended before `before`, oldest first. */
  endedBefore(before: number, limit: number): Promise<Run[]>;
  /** Removes the rows of these runs, their events and questions, and squads and chats that nothing refers to any more. */
  forget(runIds: RunId[]): Promise<void>;
  /** Called after each committed change with its events, numbered. Returns how to stop. */
  onEvents(listener: (events: Event[]) => void): () => void;
  /** Settles when everything committed so far is on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

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
