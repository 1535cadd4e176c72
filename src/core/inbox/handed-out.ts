import type { Clock } from '../../base/clock.ts';
import type { InboxId, RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Store } from '../ports/store.ts';

export interface HandedOutPorts {
  clock: Clock;
  store: Pick<Store, 'commit'>;
  warn(message: string, cause: unknown): void;
  /** Called between the steps of telling an asker, by name. */
  checkpoint(name: string): void;
}

/** How long after a hub died with an answer on its way the same words still mean that question. */
const ASKED_AGAIN_MS = 120_000;

/** Settled items on their way to the run that asked. Whether one arrived is known when the run goes on: until then it may ask again. */
export class HandedOut {
  private readonly ports: HandedOutPorts;
  private readonly items = new Map<RunId, Map<InboxId, InboxItem>>();
  private readonly openedAt: { wall: number; monotonic: number };

  constructor(ports: HandedOutPorts) {
    this.ports = ports;
    this.openedAt = { wall: ports.clock.now(), monotonic: ports.clock.monotonic() };
  }

  add(item: InboxItem): void {
    const items = this.items.get(item.runId) ?? new Map<InboxId, InboxItem>();
    this.items.set(item.runId, items.set(item.id, item));
    this.ports.checkpoint('inbox:handed');
  }

  /** A run does something else: it has what it was told. Never rejects. */
  async wentOn(runId: RunId): Promise<void> {
    const items = [...(this.items.get(runId)?.values() ?? [])];
    if (items.length === 0) return;
    this.items.delete(runId);
    const heardAt = this.ports.clock.now();
    await this.ports.store
      .commit({ inbox: items.map(item => ({ ...item, heardAt })), events: [] })
      .catch(thrown => this.ports.warn(`That ${runId} has its answers could not be recorded`, thrown));
    this.ports.checkpoint('inbox:heard');
  }

  /** The run has ended. */
  forget(runId: RunId): void {
    this.items.delete(runId);
  }

  mayNotHaveArrived({ heardAt }: InboxItem): boolean {
    if (heardAt === null) return true;
    const { wall, monotonic } = this.openedAt;
    const age = wall - heardAt + (this.ports.clock.monotonic() - monotonic);
    return heardAt < wall && age < ASKED_AGAIN_MS;
  }
}
