import type { Clock } from '../../base/clock.ts';
import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { BranchState } from '../../schema/run-card.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { BranchTip, Integration } from '../ports/integration.ts';
import type { Store } from '../ports/store.ts';

/**
 * How long a result is cached. It is short, because branches change outside Squad too, for example by `git merge` in a
 * terminal.
 */
const FRESH_MS = 2_000;
const MAX_GONE_KEPT = 10_000;
const MAX_TRIES = 100;

/** Events after which the branches of runs may have changed. */
const CHANGING: readonly Event['body']['type'][] = [
  'run.turn_ended',
  'run.ended',
  'review.closed',
  'branch.integrated',
  'worktree.made',
  'worktree.removed',
];

interface BranchStatesPorts {
  clock: Clock;
  store: Pick<Store, 'continuedInTree' | 'events' | 'runs' | 'onEvents'>;
  integration: Pick<Integration, 'tips'>;
}

type Tips = ReadonlyMap<string, BranchTip> | null;

/**
 * Reads whether the branches of ended runs are ready to merge or merged. One git process reads all branches of a
 * repository, and the result is cached briefly. So a list of runs costs the same for ten branches and for thousands.
 */
export class BranchStates {
  readonly #ports: BranchStatesPorts;
  readonly #read = new Map<string, { at: number; tips: Promise<Tips> }>();
  /** Runs whose branches no longer exist. The value is true if Squad had merged the branch. */
  readonly #gone = new Map<RunId, boolean>();

  constructor(ports: BranchStatesPorts) {
    this.#ports = ports;
    ports.store.onEvents(events => {
      if (events.some(({ body }) => CHANGING.includes(body.type))) this.#read.clear();
    });
  }

  /** Returns the branch states of these runs. A run without an entry has no branch or nothing to merge. */
  async of(runs: readonly Run[]): Promise<Map<RunId, BranchState>> {
    const states = new Map<RunId, BranchState>();
    const own = runs.filter(run => run.worktree && run.reviewOf === null && isEnd(run.status));
    if (own.length === 0) return states;
    // The branch belongs to the last run in its work tree.
    const earlier = await this.#ports.store.continuedInTree(own.map(({ id }) => id));
    for (const run of own) {
      const state = earlier.has(run.id) ? null : await this.#stateOf(run);
      if (state !== null) states.set(run.id, state);
    }
    return states;
  }

  async #stateOf(run: Run): Promise<BranchState | null> {
    const { branch, base, repository, baseBranch } = run.worktree!;
    const tips = await this.#tips(repository, baseBranch);
    if (tips === null) return null;
    const found = tips.get(branch);
    if (!found) return (await this.#wasMerged(run)) ? 'merged' : null;
    const hasCommits = found.tip !== base;
    if (hasCommits && found.isMerged) return 'merged';
    if (run.status !== 'completed' || isAtReviewLimit(run)) return null;
    return hasCommits || (await this.#hasUncommitted(run)) ? 'ready' : null;
  }

  #tips(repository: string, into: string | null): Promise<Tips> {
    const key = `${repository}\0${into ?? ''}`;
    const now = this.#ports.clock.monotonic();
    for (const [other, { at }] of this.#read) if (now - at > FRESH_MS) this.#read.delete(other);
    const known = this.#read.get(key);
    if (known) return known.tips;
    // A repository that is gone or cannot be read has no known branches.
    const tips = this.#ports.integration.tips(repository, into).catch(() => null);
    this.#read.set(key, { at: now, tips });
    return tips;
  }

  async #wasMerged({ id }: Run): Promise<boolean> {
    const known = this.#gone.get(id);
    if (known !== undefined) return known;
    const merges = await this.#ports.store.events({ runId: id, types: ['branch.integrated'], limit: 1 });
    const isMerged = merges.length > 0;
    if (this.#gone.size >= MAX_GONE_KEPT) this.#gone.clear();
    this.#gone.set(id, isMerged);
    return isMerged;
  }

  /** Work that the run, or an earlier run in the same work tree, left without a commit. A merge commits it. */
  async #hasUncommitted(run: Run): Promise<boolean> {
    if (hasChanges(run)) return true;
    if (run.options.takesUp?.by !== 'reply') return false;
    const { lineageId, worktree } = run;
    const tries = await this.#ports.store.runs({ lineageId, hasWorktree: true, limit: MAX_TRIES });
    return tries.some(each => each.worktree?.path === worktree?.path && hasChanges(each));
  }
}

const hasChanges = ({ evidence }: Run): boolean => (evidence?.filesChanged?.count ?? 0) > 0;
