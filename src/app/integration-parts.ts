import { join } from 'node:path';
import { Integrator } from '../core/integration/integrator.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Checkpoint, Integration } from '../core/ports/integration.ts';
import type { Store } from '../core/ports/store.ts';
import type { Branches, Worktrees } from '../core/ports/worktrees.ts';
import { createRunCheck } from '../process/run-check.ts';
import type { Run } from '../schema/run.ts';
import { createIntegration } from '../workspace/integration.ts';

export interface IntegrationPorts {
  home: string;
  clock: Clock;
  store: Store;
  worktrees: Worktrees;
  branches: Branches;
  liveRuns(): readonly Run[];
  /** Marks what a check starts, so that a later hub of this home ends what an earlier one left. */
  nextTag(): string;
  checkpoint: Checkpoint;
}

/** What merging branches of runs needs. */
export function openIntegration({ home, nextTag, ...ports }: IntegrationPorts): {
  integration: Integration;
  integrator: Integrator;
} {
  const integration = createIntegration();
  const integrator = new Integrator({
    ...ports,
    integration,
    runCheck: createRunCheck({ nextTag }),
    setupLog: join(home, 'check-setup.log'),
  });
  return { integration, integrator };
}
