import type { Event } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { shownStatus } from '../schema/shown-status.ts';
import type { Audience } from '../wire/face/face.ts';
import { CONTEXT, IAC_LOG, runUri } from './resources.ts';
import { AGENTS, agentUri, METRICS, urisOf } from './team-resources.ts';

interface EndNoticesOptions {
  /** Resolves with the run once the runner has finished with it. Null when the hub stops first. */
  ended(id: RunId): Promise<Run | null>;
  /** Resolves when all events so far are written to the team files. */
  teamFilesWritten(): Promise<unknown>;
}

/** Notifies MCP clients of runs that started or ended. */
export class EndNotices {
  readonly #options: EndNoticesOptions;
  readonly #present = new Set<Audience>();
  /** Clients that asked for a log message at the end of a run. */
  readonly #waiting = new Map<RunId, Audience>();

  constructor(options: EndNoticesOptions) {
    this.#options = options;
  }

  /** Notifies this audience from now on. Returns a function that ends this. */
  join(audience: Audience): () => void {
    this.#present.add(audience);
    return () => this.#present.delete(audience);
  }

  watch(runs: readonly Run[], audience: Audience): void {
    for (const { id, options } of runs) if (options.notify) this.#waiting.set(id, audience);
  }

  take(events: readonly Event[]): void {
    let isTeamNews = false;
    for (const { runId, body } of events) {
      if (runId === null) continue;
      if (body.type === 'run.started') this.#updated(runUri(runId));
      if (body.type === 'run.ended') void this.#ended(runId);
      isTeamNews ||= body.type === 'run.started' || body.type === 'run.ended';
    }
    if (isTeamNews) void this.#teamNews();
  }

  /** Waits for the end of the run, so that a client that reads at once finds the result. */
  async #ended(id: RunId): Promise<void> {
    const run = await this.#options.ended(id);
    this.#updated(runUri(id));
    const audience = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (run && audience) audience.log({ level: 'info', logger: 'squad', data: endOf(run) });
  }

  async #teamNews(): Promise<void> {
    await this.#options.teamFilesWritten();
    this.#updated(IAC_LOG);
    this.#updated(CONTEXT);
  }

  /** A notification names only the resource; clients read it in their own workspace. */
  #updated(uri: string): void {
    for (const { notices } of this.#present) notices.resourceUpdated(uri);
  }
}

function endOf(run: Run) {
  const { id, squadId, title, startedAt, endedAt, usage } = run;
  const status = shownStatus(run);
  return {
    spawn_id: id,
    squad_id: squadId,
    status,
    success: status === 'completed',
    duration_seconds: startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1000,
    cost_usd: usage?.costUsd ?? null,
    ...(title !== null && { task_summary: title }),
    message: `Run ${id} has ended: ${status}. get_result {"spawn_id":"${id}"} has its result.`,
  };
}

interface TeamUpdatesOptions {
  /** Calls back with the changed team files of a workspace. Returns a function that stops this. */
  watch(root: string, onChange: (changed: ReadonlySet<string> | null) => void): () => void;
  run(id: RunId): Promise<Run | null>;
  /** Resolves with the run once the runner has finished with it. Null when the hub stops first. */
  ended(id: RunId): Promise<Run | null>;
}

interface Followed {
  /** Clients that follow the workspace, each with its number of connections. */
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

  /** Notifies this audience about the workspace from now on. Returns a function that ends this. */
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
        // The store reports its own errors; only this notification is lost.
        void this.#notifyOfRun(runId, body.type === 'run.ended').catch(() => {});
  }

  close(): void {
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
  }

  /** Waits for the end of the run, so that a client that reads at once finds the result. */
  async #notifyOfRun(id: RunId, hasEnded: boolean): Promise<void> {
    const run = await (hasEnded ? this.#options.ended(id) : this.#options.run(id));
    for (const [root, { present }] of this.#followed) {
      const isHere = run?.workspace === root;
      const uris = isHere ? [AGENTS, ...(run.roleId === null ? [] : [agentUri(run.roleId, 'status')])] : [];
      // Today's metrics include every workspace, so all clients are notified.
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
