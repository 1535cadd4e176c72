import { sumsOf } from '../core/cost/usage.ts';
import type { Asked, RunSubject } from '../core/policy.ts';
import type { EventFilter, ReviewFilter, RunFilter } from '../core/ports/store.ts';
import { descendantsOf, MAX_LINE_LENGTH } from '../core/runs/descendants.ts';
import type { Event } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Review } from '../schema/review.ts';
import type { Run } from '../schema/run.ts';
import type { AgentStore, Services } from './operation.ts';

const ALL_ROWS = 100_000;

/** The store as one run sees it: without rows and events of others. */
export function agentStore(
  store: AgentStore,
  { id: self }: RunSubject,
  visibility: RunVisibility,
): AgentStore {
  async function run(id: RunId): Promise<Run | null> {
    const found = await store.run(id);
    return found && (await visibility.canSee(found)) ? found : null;
  }

  const seen = async (found: Run[]) => {
    const verdicts = await Promise.all(found.map(each => visibility.canSee(each)));
    return found.filter((_, i) => verdicts[i]);
  };

  const own = async () =>
    (await descendantsOf(store, self)).sort((a, b) => b.createdAt - a.createdAt || a.position - b.position);

  async function runs(filter: RunFilter): Promise<Run[]> {
    if (filter.squadId !== undefined || filter.parentId !== undefined) return seen(await store.runs(filter));
    if (filter.lineageId !== undefined)
      return (await seen(await store.runs({ ...filter, limit: ALL_ROWS }))).slice(0, filter.limit);
    const { workspace, status, hasWorktree, before = Number.POSITIVE_INFINITY, limit } = filter;
    return (await own())
      .filter(each => workspace === undefined || each.workspace === workspace)
      .filter(each => status === undefined || status.includes(each.status))
      .filter(each => !hasWorktree || each.worktree !== null)
      .filter(each => each.createdAt < before)
      .slice(0, limit);
  }

  const reviewIsSeen = async ({ coderId, reviewerId }: Review) =>
    (await run(coderId)) !== null || (await run(reviewerId)) !== null;

  async function reviews(filter: ReviewFilter): Promise<Review[]> {
    const all = await store.reviews({ ...filter, limit: ALL_ROWS });
    const verdicts = await Promise.all(all.map(reviewIsSeen));
    return all.filter((_, i) => verdicts[i]).slice(0, filter.limit);
  }

  const squadIsSeen = async (squadId: SquadId) => (await runs({ squadId, limit: ALL_ROWS })).length > 0;

  async function isSeen({ runId, squadId }: Event): Promise<boolean> {
    if (runId !== null) return (await run(runId)) !== null;
    return squadId !== null && squadIsSeen(squadId);
  }

  /** Returns as many events as requested, even if hidden events lie between them. */
  async function events(filter: EventFilter): Promise<Event[]> {
    const kept: Event[] = [];
    for (let { after } = filter; ; ) {
      const page = await store.events({ ...filter, after });
      for (const event of page) if (kept.length < filter.limit && (await isSeen(event))) kept.push(event);
      if (filter.reverse || kept.length === filter.limit || page.length < filter.limit) return kept;
      after = page.at(-1)!.seq;
    }
  }

  const onSeenEvents: AgentStore['onEvents'] = listener =>
    store.onEvents(committed => {
      const own = committed.filter(event => visibility.seesNow(event));
      if (own.length > 0) listener(own);
    });

  const seenIds = async (ids: string[], limit: number) => {
    const verdicts = await Promise.all(
      ids.map(async each =>
        each.startsWith('run_') ? (await run(each as RunId)) !== null : squadIsSeen(each as SquadId),
      ),
    );
    return ids.filter((_, i) => verdicts[i]).slice(0, limit);
  };

  return {
    run,
    runs,
    events,
    squad: async id => ((await squadIsSeen(id)) ? store.squad(id) : null),
    squadsOfBacklog: async workspace => {
      const squads = await store.squadsOfBacklog(workspace);
      const verdicts = await Promise.all(squads.map(({ id }) => squadIsSeen(id)));
      return squads.filter((_, i) => verdicts[i]);
    },
    // Children of an agent are runs of its hub.
    liveElsewhere: async () => [],
    hubsOf: async () => new Map(),
    otherOwner: async id => ((await run(id)) ? store.otherOwner(id) : null),
    requestStop: async (id, by) => {
      if (await run(id)) await store.requestStop(id, by);
    },
    liveRuns: async () => seen(await store.liveRuns()),
    leftWithError: async (filter, at) => seen(await store.leftWithError(filter, at)),
    spent: async ({ since = 0, until = Number.POSITIVE_INFINITY, squadId }) =>
      (await (squadId === undefined ? own() : runs({ squadId, limit: ALL_ROWS })))
        .filter(({ createdAt }) => createdAt >= since && createdAt < until)
        .reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0),
    async *figures({ workspace, squadId, since = 0, until = Number.POSITIVE_INFINITY }) {
      yield (await runs({ workspace, squadId, limit: ALL_ROWS }))
        .filter(each => each.createdAt >= since && each.createdAt < until)
        .map(sumsOf);
    },
    reviews,
    review: async id => {
      const found = await store.review(id);
      return found && (await reviewIsSeen(found)) ? found : null;
    },
    reviewLimit: async lineageId =>
      (await runs({ lineageId, limit: 1 })).length > 0 ? store.reviewLimit(lineageId) : null,
    turns: async id => ((await run(id)) ? store.turns(id) : []),
    idsLike: async (prefix, limit) => seenIds(await store.idsLike(prefix, ALL_ROWS), limit),
    recentIds: async limit => seenIds(await store.recentIds(limit), limit),
    onEvents: listener => onSeenEvents(listener),
    follow: async listener => onSeenEvents(listener),
  };
}

/** Which runs a caller may see. Parents never change, so results are cached. */
export class RunVisibility {
  private readonly services: Pick<Services, 'runner' | 'store'>;
  private readonly permits: (object: Asked) => boolean;
  private readonly parents = new Map<RunId, RunId | null>();
  private readonly seenRuns = new Set<RunId>();
  readonly seenSquads = new Set<SquadId>();

  constructor(services: Pick<Services, 'runner' | 'store'>, permits: (object: Asked) => boolean) {
    this.services = services;
    this.permits = permits;
  }

  /**
   * Decides without reading the store. That is possible for a run that was checked before, and for a run whose
   * ancestors are all live.
   */
  sees(run: Run): boolean {
    const line: RunId[] = [run.id];
    let above = run.parentId;
    while (above !== null && line.length < MAX_LINE_LENGTH) {
      line.push(above);
      above = this.parents.get(above) ?? this.services.runner.current(above)?.parentId ?? null;
    }
    const isSeen = this.permits({ line, squadId: run.squadId });
    if (isSeen) {
      this.seenRuns.add(run.id);
      this.seenSquads.add(run.squadId);
    }
    return isSeen;
  }

  visibleOrNull(run: Run | null): Run | null {
    return run && this.sees(run) ? run : null;
  }

  /** Like `sees`, but reads the ancestors from the store if necessary. */
  async canSee(run: Run): Promise<boolean> {
    let above = run.parentId;
    for (let i = 0; above !== null && i < MAX_LINE_LENGTH; i++) {
      const parent: RunId | null = this.parents.get(above) ?? (await this.parentOf(above));
      this.parents.set(above, parent);
      above = parent;
    }
    return this.sees(run);
  }

  seesNow({ runId, squadId }: Event): boolean {
    if (runId === null) return squadId !== null && this.seenSquads.has(squadId);
    return this.seenRuns.has(runId) || this.visibleOrNull(this.services.runner.current(runId)) !== null;
  }

  private async parentOf(id: RunId): Promise<RunId | null> {
    const { runner, store } = this.services;
    return (runner.current(id) ?? (await store.run(id)))?.parentId ?? null;
  }
}
