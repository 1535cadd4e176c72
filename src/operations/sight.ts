import type { Asked } from '../core/policy.ts';
import { LONGEST_LINE } from '../core/runs/descendants.ts';
import type { Event } from '../schema/event.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import type { Services } from './operation.ts';

/** Which runs somebody may see. Who started whom never changes, so what was once found out is kept. */
export class Sight {
  private readonly services: Pick<Services, 'runner' | 'store'>;
  private readonly permits: (object: Asked) => boolean;
  private readonly parents = new Map<RunId, RunId | null>();
  private readonly seenRuns = new Set<RunId>();
  readonly seenSquads = new Set<SquadId>();

  constructor(services: Pick<Services, 'runner' | 'store'>, permits: (object: Asked) => boolean) {
    this.services = services;
    this.permits = permits;
  }

  /** As far as memory goes: enough for a run that was looked at before, and for one whose parents live. */
  sees(run: Run): boolean {
    const line: RunId[] = [run.id];
    let above = run.parentId;
    while (above !== null && line.length < LONGEST_LINE) {
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

  ifSeen(run: Run | null): Run | null {
    return run && this.sees(run) ? run : null;
  }

  /** The same, after looking up those above it. */
  async look(run: Run): Promise<boolean> {
    let above = run.parentId;
    for (let i = 0; above !== null && i < LONGEST_LINE; i++) {
      const parent: RunId | null = this.parents.get(above) ?? (await this.parentOf(above));
      this.parents.set(above, parent);
      above = parent;
    }
    return this.sees(run);
  }

  seesNow({ runId, squadId }: Event): boolean {
    if (runId === null) return squadId !== null && this.seenSquads.has(squadId);
    return this.seenRuns.has(runId) || this.ifSeen(this.services.runner.current(runId)) !== null;
  }

  private async parentOf(id: RunId): Promise<RunId | null> {
    const { runner, store } = this.services;
    return (runner.current(id) ?? (await store.run(id)))?.parentId ?? null;
  }
}
