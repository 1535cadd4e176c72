import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { asSquadError } from '../../schema/error.ts';
import type { NewEvent } from '../../schema/event.ts';
import { RunId } from '../../schema/ids.ts';
import type { IntegrationPlan } from '../../schema/integration.ts';
import type { Intent } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Checkpoint } from '../ports/integration.ts';
import { removalEvent } from '../worktrees/removal.ts';
import { branchMoved, checkedOutOtherwise, planUnknown } from './checklist.ts';
import {
  type MadePlan,
  type PlanPorts,
  type PlanRequest,
  planIntegration,
  removeCheckTree,
} from './plan-integration.ts';

export interface IntegratorPorts extends PlanPorts {
  /** Runs that have not ended, whose work trees must stay. */
  liveRuns(): readonly Run[];

  checkpoint: Checkpoint;
}

export const RunningCheck = z.object({
  command: z.array(z.string()),
  startedAt: z.number(),
  /** End of the command's output. */
  output: z.string(),
});
type RunningCheck = z.infer<typeof RunningCheck>;

export const Integrated = z.object({
  target: z.string(),
  from: z.string(),
  to: z.string(),
  merged: z.array(z.object({ runId: RunId, branch: z.string(), commit: z.string() })),
  /** Result for each work tree that was to be removed. */
  removed: z.array(z.object({ runId: RunId, path: z.string(), kept: z.string().nullable() })),
  /** Warnings that the user should read afterwards. */
  notes: z.array(z.string()),
});
export type Integrated = z.infer<typeof Integrated>;

type IntegrateIntent = Extract<Intent, { kind: 'integrate' }>;

/** Maximum number of stored plans; a plan is soon outdated, because branches move. */
const MAX_PLANS = 20;

/**
 * Merges branches of runs: first makes a plan without changing anything, then carries out exactly that plan. Does one
 * thing at a time.
 */
export class Integrator {
  readonly #ports: IntegratorPorts;
  readonly #plans = new Map<string, MadePlan>();
  #last: Promise<unknown> = Promise.resolve();

  /** Check that is running. Null if no check is running. */
  #check: { command: string[]; startedAt: number; read(): Promise<string> } | null = null;

  constructor(ports: IntegratorPorts) {
    this.#ports = {
      ...ports,
      runCheck: async ask => {
        const command = ask.argv;
        const startedAt = ports.clock.now();
        const onStart = (read: () => Promise<string>) => {
          this.#check = { command, startedAt, read };
        };
        try {
          return await ports.runCheck({ ...ask, onStart });
        } finally {
          this.#check = null;
        }
      },
    };
  }

  /** Returns the running check with the end of its output so far. Null if no check is running. */
  async checkNow(): Promise<RunningCheck | null> {
    if (!this.#check) return null;
    const { command, startedAt, read } = this.#check;
    // The check may end while its output is read. The output is removed then.
    return { command, startedAt, output: await read().catch(() => '') };
  }

  plan(request: PlanRequest): Promise<IntegrationPlan> {
    return this.#alone(async () => {
      await this.#recover();
      const made = await planIntegration(this.#ports, request);
      const { blocked, check, branches } = made.plan;
      const canMerge = blocked === null && check?.outcome !== 'not_run';
      if (!canMerge || !branches.some(({ outcome }) => outcome === 'merges'))
        return { ...made.plan, planId: null };
      const planId = randomUUID();
      this.#plans.set(planId, made);
      for (const id of [...this.#plans.keys()].slice(0, -MAX_PLANS)) this.#plans.delete(id);
      return { ...made.plan, planId };
    });
  }

  /**
   * Carries out a plan. Throws PLAN_UNKNOWN, BRANCH_MOVED, TARGET_BLOCKED or GIT_FAILED, in which case the target has
   * not moved.
   */
  carryOut(planId: string, { remove }: { remove: boolean }): Promise<Integrated> {
    return this.#alone(async () => {
      await this.#recover();
      const made = this.#plans.get(planId);
      if (!made) throw planUnknown(planId);
      this.#plans.delete(planId);
      const intent = await this.#intentFor(made);
      const { merged, target, from, to } = intent;
      const notes = await this.#merge(intent, made);
      const removed = remove ? await this.#remove(merged.map(({ runId }) => runId)) : [];
      return { target, from, to, merged, removed, notes };
    });
  }

  /** Finishes or undoes merges that a previous hub had begun. Returns lines for the log. */
  recover(): Promise<string[]> {
    return this.#alone(() => this.#recover());
  }

  async #recover(): Promise<string[]> {
    const lines: string[] = [];
    for (const intent of await this.#ports.store.intents())
      try {
        if (intent.kind === 'check') await this.#clear(intent);
        if (intent.kind === 'integrate') lines.push(...(await this.#settle(intent)));
      } catch (thrown) {
        // The error becomes a line of the log, because a repository that cannot be read must not block the others.
        lines.push(
          `A merge or check in ${placeOf(intent)} is not finished yet: ${asSquadError(thrown).message}`,
        );
      }
    return lines;
  }

  async #clear({ id, tree }: Extract<Intent, { kind: 'check' }>): Promise<void> {
    if (await removeCheckTree(this.#ports, tree))
      await this.#ports.store.commit({ intentsDone: [id], events: [] });
  }

  async #settle(intent: IntegrateIntent): Promise<string[]> {
    const { store, integration } = this.#ports;
    const { moved, notes } = await integration.settle(intent);
    await store.commit({ intentsDone: [intent.id], events: moved ? await this.#events(intent) : [] });
    const how = moved ? 'finished' : 'undone';
    return [`Merging into ${intent.target} of ${intent.repository} was ${how}`, ...notes];
  }

  async #intentFor({ plan }: MadePlan): Promise<IntegrateIntent> {
    const { clock, integration } = this.#ports;
    const [repository, target, from, to] = [plan.repository!, plan.target!, plan.from!, plan.to!];
    const { commit, checkedOutAt } = await integration.target(repository, target);
    if (commit !== from) throw branchMoved(target);
    // The branch was checked out or left in the meantime, so its folder has changed.
    if (
      checkedOutAt.some(folder => folder !== repository) ||
      checkedOutAt.includes(repository) !== (plan.folder !== null)
    )
      throw checkedOutOtherwise(target);
    return {
      ...{ id: `integrate:${randomUUID()}`, at: clock.now(), kind: 'integrate' },
      ...{ repository, target, from, to, folder: plan.folder },
      merged: plan.branches.flatMap(({ runId, branch, commit }) => (commit ? { runId, branch, commit } : [])),
    };
  }

  /** The intent is on disk before git changes anything, and is closed in the transaction that records the merge. */
  async #merge(intent: IntegrateIntent, { moves }: MadePlan): Promise<string[]> {
    const { store, branches, integration, checkpoint } = this.#ports;
    await store.commit({ intents: [intent], events: [] });
    let notes: string[];
    try {
      checkpoint('intent written');
      for (const { worktree, move } of moves) {
        await branches.apply(worktree, move);
        checkpoint('work committed');
      }
      notes = await integration.move(intent, checkpoint);
    } catch (thrown) {
      const recovered = await integration.settle(intent);
      if (!recovered.moved) {
        await store.commit({ intentsDone: [intent.id], events: [] });
        throw thrown;
      }
      notes = recovered.notes;
    }
    checkpoint('moved');
    await store.commit({ intentsDone: [intent.id], events: await this.#events(intent) });
    return notes;
  }

  async #events({ merged, target }: IntegrateIntent): Promise<NewEvent[]> {
    const { clock, store } = this.#ports;
    const at = clock.now();
    const runs = await Promise.all(merged.map(({ runId }) => store.run(runId)));
    return merged.map(({ runId, branch, commit }, i) => ({
      ...{ at, runId, squadId: runs[i]?.squadId ?? null },
      body: { type: 'branch.integrated', branch, into: target, commit },
    }));
  }

  async #remove(runIds: readonly RunId[]): Promise<Integrated['removed']> {
    const { store, clock, worktrees, liveRuns } = this.#ports;
    const results: Integrated['removed'] = [];
    for (const runId of runIds) {
      const run = await store.run(runId);
      if (!run?.worktree) continue;
      const { path } = run.worktree;
      const live = liveRuns().find(({ worktree }) => worktree?.path === path);
      const removal = live
        ? ({ outcome: 'kept', why: `${live.id} is running in it` } as const)
        : await worktrees.remove(run.worktree, { dropEmptyBranch: false });
      const kept = removal.outcome === 'kept' ? removal.why : null;
      results.push({ runId, path, kept });
      const body = removalEvent(run.worktree, removal);
      await store.commit({ events: [{ at: clock.now(), runId, squadId: run.squadId, body }] });
    }
    return results;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

const placeOf = (intent: Intent): string => (intent.kind === 'integrate' ? intent.repository : 'a work tree');
