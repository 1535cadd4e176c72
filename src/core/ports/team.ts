import type { Backlog } from '../team/backlog.ts';
import type { NewDecision } from '../team/decision-file.ts';
import type { Decisions } from '../team/decisions.ts';
import type { BacklogEdit } from '../team/edit-backlog.ts';
import type { HistoryEntry } from '../team/history.ts';
import type { Roster } from '../team/roster.ts';

export interface TeamAgent {
  name: string;
  hasCharter: boolean;
  hasHistory: boolean;
}

/**
 * Team files in `.squad`, which people and other programs edit too. They are read anew on each call. Problems become notes and
 * never errors; without the folder everything is empty, and a note says so.
 */
export interface TeamMemory {
  /** True: there is a roster, a decisions file or a backlog. */
  hasFiles(): Promise<boolean>;
  roster(): Promise<Roster>;
  /** `revision` changes with every change of the files. */
  decisions(): Promise<Decisions & { revision: string }>;
  /** `revision` changes with every change of the file. */
  backlog(): Promise<Backlog & { revision: string }>;
  /**
   * Changes one item and nothing else in the file; with a revision, only if the file still has that revision. Throws
   * TEAM_MISSING, BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
   */
  changeBacklog(edit: BacklogEdit, revision: string | null): Promise<{ number: number; title: string }>;
  agents(): Promise<TeamAgent[]>;
  /** Null: no agent of that name, or it has no charter. */
  charter(name: string): Promise<string | null>;
  /** In the order of the file. */
  history(name: string): Promise<HistoryEntry[] | null>;
  /** Writes a new file into the decision inbox; existing files stay unchanged. Throws TEAM_MISSING. */
  record(decision: NewDecision, at: Date): Promise<{ id: string; file: string }>;
}
