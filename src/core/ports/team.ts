import type { Backlog } from '../team/backlog.ts';
import type { NewDecision } from '../team/decision-file.ts';
import type { Decisions } from '../team/decisions.ts';
import type { BacklogEdit } from '../team/edit-backlog.ts';
import type { HistoryEntry } from '../team/history.ts';
import type { Roster } from '../team/roster.ts';

/** An agent of the team, as the folder `.squad/agents` knows it. */
export interface TeamAgent {
  name: string;
  hasCharter: boolean;
  hasHistory: boolean;
}

/**
 * What a team knows: plain files in `.squad` that people and other programs edit. Read as they are now; what is odd about
 * them is told in notes and never thrown. Without the folder everything is empty, and a note says so.
 */
export interface TeamMemory {
  /** Whether any file of the team is there: roster, decisions or backlog. */
  hasFiles(): Promise<boolean>;
  roster(): Promise<Roster>;
  /** `revision` is another one whenever a file of theirs has changed. */
  decisions(): Promise<Decisions & { revision: string }>;
  /** `revision` is another one whenever the file has changed. */
  backlog(): Promise<Backlog & { revision: string }>;
  /**
   * One change, made to the file and to nothing else of it; with a revision only while it still has that. Throws TEAM_MISSING,
   * BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
   */
  changeBacklog(edit: BacklogEdit, revision: string | null): Promise<{ number: number; title: string }>;
  agents(): Promise<TeamAgent[]>;
  /** Null for a name that `agents` does not have, and for one without a charter. */
  charter(name: string): Promise<string | null>;
  /** In the order of the file. */
  history(name: string): Promise<HistoryEntry[] | null>;
  /** Into a new file of the inbox: nothing that is there is touched. Throws TEAM_MISSING. */
  record(decision: NewDecision, at: Date): Promise<{ id: string; file: string }>;
}
