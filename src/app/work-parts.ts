import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { Inbox } from '../core/inbox/inbox.ts';
import { Integrator } from '../core/integration/integrator.ts';
import type { Integration } from '../core/ports/integration.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Sessions } from '../core/ports/sessions.ts';
import type { Store } from '../core/ports/store.ts';
import type { Branches, Worktrees } from '../core/ports/worktrees.ts';
import type { ReviewPorts } from '../core/review/ports.ts';
import { Proposals } from '../core/review/pull-requests.ts';
import { ReviewLoop } from '../core/review/review-loop.ts';
import type { Runner } from '../core/runs/runner.ts';
import { createGitHub } from '../github/git-host.ts';
import { createRunCheck } from '../process/programs/run-logged.ts';
import type { HubSettings } from '../schema/config.ts';
import { openGit } from '../workspace/git/git.ts';
import { createIntegration } from '../workspace/integration/integration.ts';

export interface WorkPorts {
  home: string;
  path: string;
  clock: Clock;
  store: Store;
  files: RunFiles;
  settings(): HubSettings;
  worktrees: Worktrees;
  branches: Branches;
  sessions: Sessions;
  runner: Runner;
  planReviewer: ReviewPorts['plan'];
  /** A new mark for a check's processes, so that a later hub of this home can end what this one leaves. */
  nextTag(): string;
  checkpoint(name: string): void;
  log(message: string): void;
  warn(message: string, cause: unknown): void;
}

/** Reviews, pull requests, merges and the inbox. */
export interface WorkParts {
  inbox: Inbox;
  reviews: ReviewLoop;
  proposals: Proposals;
  integration: Integration;
  integrator: Integrator;
  /** Finishes what an earlier hub had begun. Call when the runner has all runs. Never rejects. */
  recover(): Promise<void>;
}

export function openWork(ports: WorkPorts): WorkParts {
  const { home, path, runner, planReviewer: plan, nextTag, log, warn, ...rest } = ports;
  const inbox = new Inbox({
    ...rest,
    current: id => runner.current(id),
    timeLeft: id => runner.timeLeft(id),
    warn,
  });
  const reviews = new ReviewLoop({ ...rest, runner, plan, warn });
  const gitHost = createGitHub({ openGit, env: { PATH: path } });
  const proposals = new Proposals({ ...rest, runner, reviews, gitHost, warn });
  const integration = createIntegration();
  const integrator = new Integrator({
    ...rest,
    integration,
    liveRuns: () => runner.liveRuns(),
    runCheck: createRunCheck({ nextTag }),
    setupLog: join(home, 'check-setup.log'),
  });
  return {
    inbox,
    reviews,
    proposals,
    integration,
    integrator,
    async recover() {
      // A failure here must not keep the hub, and so every run, from starting.
      const later = (what: string) => (thrown: unknown) => warn(`${what} could not be recovered`, thrown);
      await inbox.recover().catch(later('Open questions'));
      await proposals.recover().catch(later('Unfinished pull requests'));
      await reviews.recover().catch(later('Unfinished reviews'));
      const merges = await integrator.recover().catch(later('Unfinished merges'));
      for (const line of merges ?? []) log(line);
    },
  };
}
