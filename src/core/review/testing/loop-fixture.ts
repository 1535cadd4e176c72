import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { HubSettings } from '../../../schema/config.ts';
import { newRunId } from '../../../schema/ids.ts';
import type { Review } from '../../../schema/review.ts';
import type { Run } from '../../../schema/run.ts';
import { openForTest } from '../../../store/fixtures/open-for-test.ts';
import { aRun, aSquad } from '../../../store/fixtures/sample-rows.ts';
import { tempDatabase } from '../../../store/fixtures/temp-database.ts';
import { Repository } from '../../../workspace/testing/repository.ts';
import { createBranches } from '../../../workspace/worktrees/run-branch.ts';
import { createWorktrees } from '../../../workspace/worktrees/worktrees.ts';
import type { Store } from '../../ports/store.ts';
import type { PlannedRun } from '../../runs/plan-run.ts';
import type { ReviewPorts } from '../ports.ts';
import { ReviewLoop } from '../review-loop.ts';
import { StandInRunner } from './stand-in-runner.ts';

export const FEEDBACK = {
  feedback: 'The parser drops the last line.\nSee src/parse.ts:12.',
  type: 'needs_work' as const,
  priority: 'high',
  actionableItems: ['Keep the last line'],
};
export const NO_WORDS = { reviewerPrompt: null, completionMessage: null };

/** A real repository and store with a running coder in its own work tree. There are no agents. */
export class LoopFixture {
  readonly repository = new Repository();
  readonly warnings: string[] = [];
  /** Milliseconds that the clock is ahead. */
  ahead = 0;
  settings = HubSettings.parse({});
  /** Step at which the hub dies. After it, the hub writes nothing to disk. */
  diesAt: string | null = null;
  /** Called between two steps. */
  onStep: (name: string) => void = () => {};
  private isDead = false;
  readonly worktrees = createWorktrees({
    folder: join(this.repository.folder, 'trees'),
    env: this.repository.env,
  });
  readonly branches = createBranches({ env: this.repository.env });
  runner!: StandInRunner;
  loop!: ReviewLoop;
  ports!: ReviewPorts;
  readonly store: Store;

  private constructor(store: Store) {
    this.store = store;
    this.repository.write('README.md', '# Project\n');
    this.repository.commit('First');
    onTestFinished(() => this.repository.remove());
  }

  static async open(): Promise<LoopFixture> {
    const fixture = new LoopFixture(await openForTest(await tempDatabase()));
    fixture.start();
    await fixture.loop.recover();
    onTestFinished(() => fixture.loop.close());
    return fixture;
  }

  /** Starts the parts of a hub that reviews need, for the first time or after another hub died. */
  start(): void {
    this.isDead = false;
    const mortal = <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name) => {
          const found = Reflect.get(target, name);
          return typeof found === 'function'
            ? (...given: unknown[]) => this.alive(() => found.apply(target, given))
            : found;
        },
      });
    this.runner = new StandInRunner(mortal(this.store));
    this.ports = {
      clock: { now: () => Date.now() + this.ahead, monotonic: () => performance.now() + this.ahead },
      store: mortal(this.store),
      settings: () => this.settings,
      worktrees: mortal(this.worktrees),
      branches: mortal(this.branches),
      sessions: { nameOf: ({ id }) => `squad-${id}` },
      runner: this.runner,
      plan: (coder, task) => this.plan(coder, task),
      checkpoint: name => {
        this.onStep(name);
        this.isDead ||= name === this.diesAt;
        this.alive(() => {});
      },
      warn: message => this.warnings.push(message),
    };
    this.loop = new ReviewLoop(this.ports);
    this.runner.onEnd = run => this.loop.onEnd(run);
    this.runner.onTurnOver = run => this.loop.onTurnOver(run);
  }

  /** Starts the next hub with all runs that have not ended. */
  async startAgain(before: () => Promise<void> = async () => {}): Promise<void> {
    await this.loop.close();
    this.diesAt = null;
    this.start();
    await this.loop.finishIntents();
    for (const run of await this.store.liveRuns()) this.runner.takeIn(run, run.status !== 'waiting_review');
    await before();
    await this.loop.recover();
  }

  /** Adds a running coder that has changed a file and committed nothing. */
  async coder(more: Partial<Run> = {}): Promise<Run> {
    const squad = aSquad({ workspace: this.repository.root });
    const id = newRunId();
    const { worktree, directory } = await this.worktrees.plan({
      ...{ runId: id, name: 'coder', directory: this.repository.root, workspace: this.repository.root },
    });
    await this.worktrees.ensure(worktree, null);
    const run = aRun(squad, {
      ...{ id, status: 'running', type: 'coding', task: 'Write the parser', worktree, directory, ...more },
    });
    await this.store.commit({ squads: [squad], runs: [run], events: [] });
    if (run.worktree) this.write(run, 'src/parse.ts', 'export {};\n');
    return this.runner.takeIn(run);
  }

  write(run: Run, path: string, text: string): void {
    const file = join(run.worktree!.path, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }

  read = (run: Run, path: string): string => readFileSync(join(run.worktree!.path, path), 'utf8');
  hasTree = (run: Run | null): boolean => existsSync(run?.worktree?.path ?? '/nowhere');

  git(folder: string, ...args: string[]): string {
    const identity = ['-c', 'user.name=Agent', '-c', 'user.email=a@example.com'];
    const env = { ...this.repository.env, GIT_CONFIG_NOSYSTEM: '1' };
    return execFileSync('git', [...identity, ...args], { cwd: folder, env, encoding: 'utf8' }).trim();
  }

  inTree = (run: Run, ...args: string[]): string => this.git(run.worktree!.path, ...args);

  async reviews(run: Run): Promise<Review[]> {
    return this.store.reviews({ lineageId: run.lineageId, limit: 100 });
  }

  async lastReview(run: Run): Promise<Review | undefined> {
    return (await this.reviews(run)).at(-1);
  }

  /** Advances the clock and waits for all effects. */
  async later(ms: number, run: Run): Promise<void> {
    this.ahead += ms;
    this.loop.onTurnOver(run);
    await this.settled();
  }

  /** Waits for the effects of a finished step. Two checks of an empty queue are enough for the stand-in. */
  async settled(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      await this.loop.idle();
      await new Promise(settle => setImmediate(settle));
    }
  }

  private alive<T>(act: () => T): T {
    if (this.isDead) throw new Error('The hub is dead');
    return act();
  }

  private async plan(coder: Run, task: string): Promise<Awaited<ReturnType<ReviewPorts['plan']>>> {
    const squad = aSquad({ workspace: this.repository.root });
    const id = newRunId();
    const { worktree, directory } = await this.worktrees.plan({
      ...{ runId: id, name: 'reviewer', directory: coder.directory, workspace: coder.workspace },
      from: coder.worktree!,
    });
    const run = aRun(squad, {
      ...{
        id,
        type: 'review',
        reviewOf: coder.id,
        parentId: coder.id,
        lineageId: coder.lineageId,
        roleId: 'reviewer',
      },
      ...{ task, worktree, directory, depth: coder.depth },
    });
    return { plan: { squad, runs: [{ run } as PlannedRun] }, notes: [] };
  }
}
