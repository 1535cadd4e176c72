import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { NamedRun } from '../../schema/run-text.ts';

export type WindowedRun = NamedRun & Pick<Run, 'id' | 'title' | 'task' | 'worktree'>;

/** tmux sessions that show runs. No run depends on them, so no method rejects. */
export interface Sessions {
  /** Name of the run's session. Null if there is no tmux, or if the settings exclude the run from sessions. */
  nameOf(run: WindowedRun): string | null;
  /**
   * Name of the run's session, which is created if necessary. Null if there is no tmux, or if the settings exclude the
   * run from sessions. `isAskedFor` means that the user requested this session, so that only the setting `off` prevents
   * it.
   */
  open(run: WindowedRun, isAskedFor?: boolean): Promise<string | null>;
  /** Resolves when the session is closed. Its last lines stay readable a little longer. */
  close(runId: RunId): Promise<void>;
  /** Closes sessions of runs that have ended. */
  sweep(isLive: (runId: RunId) => boolean): Promise<void>;
}

/** Terminal windows on the user's screen; the environment identifies the screen. */
export interface Terminals {
  /** The terminal program, or the reason why there is none. */
  find(env: Record<string, string>): { program: string; why: null } | { program: null; why: string };
  /** Opens a window for this run. Rejects when no window was opened. */
  open(env: Record<string, string>, attach: { run: string; takesOver: boolean }): Promise<void>;
}
