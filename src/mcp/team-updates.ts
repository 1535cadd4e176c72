import type { Event } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import type { Audience } from '../wire/face/face.ts';
import { AGENTS, agentUri, METRICS, urisOf } from './team-resources.ts';

export interface TeamUpdatesOptions {
  /** Calls back with the changed team files of a workspace. Returns how to stop. */
  watch(root: string, onChange: (changed: ReadonlySet<string> | null) => void): () => void;
  run(id: RunId): Promise<Run | null>;
  /** The run once the runner has let go of it; null when the hub stops first. */
  ended(id: RunId): Promise<Run | null>;
}

interface Followed {
  /** By member: one audience may join more than once. */
  present: Map<unknown, { audience: Audience; count: number }>;
  stop(): void;
}

/** Notifies clients of changes to a team's resources. Watches only workspaces that have clients. */
export class TeamUpdates {
  readonly #options: TeamUpdatesOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: TeamUpdatesOptions) {
    this.#options = options;
  }

  /** Notifies this audience of the workspace from now on. Returns how to leave. */
  join(root: string, member: unknown, audience: Audience): () => void {
    const followed = this.#followed.get(root) ?? this.#follow(root);
    const place = followed.present.get(member) ?? { audience, count: 0 };
    place.count++;
    followed.present.set(member, place);
    let isHere = true;
    return () => {
      if (!isHere) return;
      isHere = false;
      place.count--;
      if (place.count === 0) followed.present.delete(member);
      if (followed.present.size > 0) return;
      followed.stop();
      this.#followed.delete(root);
    };
  }

  take(events: readonly Event[]): void {
    if (this.#followed.size === 0) return;
    for (const { runId, body } of events)
      if (runId !== null && NEWS.has(body.type))
        // The store reports its own errors; this notification is just lost.
        void this.#notifyOfRun(runId, body.type === 'run.ended').catch(() => {});
  }

  close(): void {
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
  }

  /** Waits for the end, so that a client that reads at once finds it. */
  async #notifyOfRun(id: RunId, hasEnded: boolean): Promise<void> {
    const run = await (hasEnded ? this.#options.ended(id) : this.#options.run(id));
    for (const [root, { present }] of this.#followed) {
      const isHere = run?.workspace === root;
      const uris = isHere ? [AGENTS, ...(run.roleId === null ? [] : [agentUri(run.roleId, 'status')])] : [];
      // The metrics of today include every workspace.
      notify(present, [...uris, METRICS]);
    }
  }

  #follow(root: string): Followed {
    const present: Followed['present'] = new Map();
    const stop = this.#options.watch(root, changed => notify(present, urisOf(changed)));
    const followed = { present, stop };
    this.#followed.set(root, followed);
    return followed;
  }
}

const NEWS: ReadonlySet<Event['body']['type']> = new Set(['run.queued', 'run.started', 'run.ended'] as const);

function notify(present: Followed['present'], uris: readonly string[]): void {
  for (const { audience } of present.values()) for (const uri of uris) audience.notices.resourceUpdated(uri);
}
