import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { EventBody, NewEvent } from '../../schema/event.ts';
import type { Run } from '../../schema/run.ts';
import type { Sessions } from '../ports/sessions.ts';
import type { Store } from '../ports/store.ts';
import type { Branches, Worktrees } from '../ports/worktrees.ts';
import type { PlannedSquad } from '../runs/plan-run.ts';
import type { Runner } from '../runs/runner.ts';

export interface ReviewPorts {
  clock: Clock;
  store: Store;
  settings(): HubSettings;
  worktrees: Pick<Worktrees, 'ensure' | 'remove'>;
  branches: Branches;
  sessions: Pick<Sessions, 'nameOf'>;
  runner: Pick<Runner, 'submit' | 'resume' | 'endWaiting' | 'stop' | 'note' | 'current' | 'liveRuns'>;
  /** Plans a reviewer for this run in a fork of its work tree. Writes and starts nothing. */
  plan(coder: Run, task: string): Promise<PlannedReview>;
  /** Called between any two steps, for tests that end the hub there. */
  checkpoint(name: string): void;
  /** Logs an error that must not stop the hub. */
  warn(message: string, cause: unknown): void;
}

export interface PlannedReview {
  plan: PlannedSquad;
  /** Notes for the coder. */
  notes: string[];
}

/** Maximum number of reviews to read. No task has so many rounds. */
export const ALL_REVIEWS = 10_000;

export const eventOf = (clock: Clock, run: Pick<Run, 'id' | 'squadId'>, body: EventBody): NewEvent => ({
  at: clock.now(),
  runId: run.id,
  squadId: run.squadId,
  body,
});

/** The current state of a run. For a run that has not ended, the runner's state is newer than the database. */
export const runNow = async (
  { runner, store }: { runner: Pick<Runner, 'current'>; store: Pick<Store, 'run'> },
  id: Run['id'],
) => runner.current(id) ?? (await store.run(id));
