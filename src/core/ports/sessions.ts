import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { NamedRun } from '../../schema/run-text.ts';

/** What a window shows of its run, beside the log. */
export type WindowedRun = NamedRun & Pick<Run, 'id' | 'title' | 'task' | 'worktree'>;

/** Windows on runs, in tmux. Never needed for a run, so nothing here rejects. */
export interface Sessions {
  /** The name of the session it has while it is at work; null: there is no tmux, or runs like this have none. */
  nameOf(run: WindowedRun): string | null;
  /**
   * The name of its session, which is made if it is not there; null: there is no tmux, or runs like this have none.
   * `isAskedFor`: somebody wants this one, so that only `off` keeps it away.
   */
  open(run: WindowedRun, isAskedFor?: boolean): Promise<string | null>;
  /** Settles when it is gone; its last lines can be read a moment longer. */
  close(runId: RunId): Promise<void>;
  /** Ends sessions of ours whose run is over. */
  sweep(isLive: (runId: RunId) => boolean): Promise<void>;
}

/** Windows for people to work in, on the screen of whoever has this environment. */
export interface Terminals {
  /** The program that would open one, or why none can be. */
  find(env: Record<string, string>): { program: string; why: null } | { program: null; why: string };
  /** Opens one on this run. Rejects when no window comes of it. */
  open(env: Record<string, string>, attach: { run: string; takesOver: boolean }): Promise<void>;
}
