import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';

/** Windows on runs, in tmux. Never needed for a run, so nothing here rejects. */
export interface Sessions {
  /** The name of its session; null: there is no tmux, or runs like this have none. */
  open(run: Run): Promise<string | null>;
  close(runId: RunId): Promise<void>;
  /** Ends sessions of ours whose run is over. */
  sweep(isLive: (runId: RunId) => boolean): Promise<void>;
}
