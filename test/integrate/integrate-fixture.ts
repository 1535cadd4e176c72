/** Everything that merging branches of runs is made of, for real, with runs that only the database knows. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Integrator } from '../../src/core/integration/integrator.ts';
import type { PlanRequest } from '../../src/core/integration/plan-integration.ts';
import type { Checkpoint } from '../../src/core/ports/integration.ts';
import type { Store } from '../../src/core/ports/store.ts';
import { PLAIN_OPTIONS } from '../../src/core/testing/plain-options.ts';
import { createRunCheck } from '../../src/process/programs/run-logged.ts';
import { newRunId, newSquadId } from '../../src/schema/ids.ts';
import type { IntegrationPlan } from '../../src/schema/integration.ts';
import type { Run } from '../../src/schema/run.ts';
import { openStore } from '../../src/store/open.ts';
import { createIntegration } from '../../src/workspace/integration/integration.ts';
import { Repository } from '../../src/workspace/testing/repository.ts';
import { createBranches } from '../../src/workspace/worktrees/run-branch.ts';
import { createWorktrees } from '../../src/workspace/worktrees/worktrees.ts';

type Files = Record<string, string>;

type Place = Pick<Repository, 'folder' | 'env'>;

export const databaseOf = ({ folder }: Place): string => join(folder, 'squad.db');
const worktreesOf = ({ folder, env }: Place) => createWorktrees({ folder: join(folder, 'trees'), env });

/** As the hub puts it together. */
export function integratorOn(
  { store, repo }: { store: Store; repo: Place },
  { live, checkpoint }: { live: () => Run[]; checkpoint: Checkpoint },
): Integrator {
  let tags = 0;
  return new Integrator({
    ...{
      clock: { now: () => Date.now(), monotonic: () => performance.now() },
      store,
      worktrees: worktreesOf(repo),
      liveRuns: live,
      checkpoint,
    },
    branches: createBranches({ env: repo.env }),
    integration: createIntegration(repo.env),
    runCheck: createRunCheck({ nextTag: () => `test.${process.pid}.${++tags}` }),
    setupLog: join(repo.folder, 'setup.log'),
  });
}

/** Whatever has completed, with no check. */
export const PLAIN_REQUEST: Omit<PlanRequest, 'runs'> = {
  ...{ named: null, checkout: null, order: 'suggested' },
  ...{ check: null, untrustedCheck: null, warnings: [], runsCheck: true },
};

export class IntegrateFixture {
  readonly repo: Repository;
  readonly worktrees;
  readonly squadId = newSquadId();
  readonly store;
  live: Run[] = [];
  /** Only how often a step was reached, unless a test has it do more. */
  checkpoint: Checkpoint = () => {};

  private constructor(store: Store, repo: Repository) {
    this.store = store;
    this.repo = repo;
    this.worktrees = worktreesOf(repo);
    this.repo.write('a.txt', 'one\n');
    this.repo.commit('First');
  }

  static async open(): Promise<IntegrateFixture> {
    const repo = new Repository();
    const store = await openStore({ database: databaseOf(repo), version: '0.0.0' });
    const fixture = new IntegrateFixture(store, repo);
    await fixture.store.commit({
      squads: [
        { id: fixture.squadId, workspace: fixture.repo.root, client: null, metadata: null, createdAt: 1 },
      ],
      events: [],
    });
    return fixture;
  }

  integrator(): Integrator {
    return integratorOn(this, { live: () => this.live, checkpoint: name => this.checkpoint(name) });
  }

  /** A run that has ended, with a work tree in which it wrote these files; `uncommitted` ones it left so. */
  async run(files: Files, given: Partial<Run> & { uncommitted?: Files } = {}): Promise<Run> {
    const { uncommitted = {}, ...more } = given;
    const id = newRunId();
    const place = { directory: this.repo.root, workspace: this.repo.root };
    const { worktree } = await this.worktrees.plan({ runId: id, name: 'coder', ...place });
    await this.worktrees.ensure(worktree, null);
    if (Object.keys(files).length > 0) {
      write(worktree.path, files);
      this.repo.git('-C', worktree.path, 'add', '-A');
      this.repo.git('-C', worktree.path, 'commit', '-q', '-m', 'Work');
    }
    write(worktree.path, uncommitted);
    const run: Run = {
      ...{
        id,
        squadId: this.squadId,
        position: 0,
        lineageId: id,
        roleId: 'coder',
        type: null,
        reviewOf: null,
      },
      ...{
        task: `Write ${Object.keys(files).join(' and ')}`,
        title: null,
        cwd: '.',
        directory: worktree.path,
      },
      ...{ workspace: this.repo.root, worktree, engine: 'scripted', outputIsEvents: false, model: null },
      ...{ stateMode: 'stateless', chatId: null, chatIsNew: true, parentId: null, depth: 0, client: null },
      ...{ timeoutMs: 1000, keepLeftovers: false, options: PLAIN_OPTIONS, policy: [], tokenHash: null },
      ...{ status: 'completed', turn: 1, error: null, usage: null, notes: [], evidence: null },
      ...{ createdAt: Date.now(), startedAt: 1, endedAt: Date.now() },
      ...more,
    };
    await this.store.commit({ runs: [run], events: [] });
    return run;
  }

  async plan(integrator: Integrator, given: Partial<PlanRequest> = {}): Promise<IntegrationPlan> {
    const runs = await this.store.runs({ limit: 100 });
    return integrator.plan({ ...PLAIN_REQUEST, runs, ...given });
  }

  /** A check that is this line of shell. */
  check = (line: string, limitMs = 20_000): NonNullable<PlanRequest['check']> => ({
    argv: ['/bin/sh', '-c', line],
    env: { PATH: process.env.PATH ?? '' },
    ...{ limitMs, setup: null, workspace: this.repo.root },
  });

  tip = (branch = 'main'): string => this.repo.git('rev-parse', branch).trim();

  async close(): Promise<void> {
    await this.store.close();
    this.repo.remove();
  }
}

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
