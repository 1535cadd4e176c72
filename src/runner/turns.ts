import { existsSync, mkdirSync, readdirSync, readSync, rmSync, statSync, watch } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { writeBelow } from '../process/output/own-folder.ts';
import { withRegular } from '../process/output/regular-file.ts';
import type { LiveTurn } from '../process/turns/live-turn.ts';
import type { ProcessStats } from '../process/turns/process-stats.ts';
import { createSupervisor } from '../process/turns/supervisor.ts';
import {
  bootSeconds,
  hasExitRecord,
  hasLapsed,
  hasLease,
  takenAt,
  turnFolder,
  writeLease,
} from '../process/turns/turn-record.ts';
import { FILE_NAME, MAX_FILES, type Ops, type TurnId, type TurnState } from './protocol.ts';

/** Polling interval, in addition to file system events, which some file systems do not send. */
const LOOK_MS = 500;
const ORPHAN_GRACE_MS = 3_000;
const STREAMS = ['stdout', 'stderr'] as const;

interface Held {
  state: TurnState;
  live: LiveTurn | null;
}

type Ask<N extends keyof Ops> = Ops[N]['ask'];

/**
 * Turns of one hub on this machine. Their wrappers outlive this process, and the next runner finds them by their files.
 */
export class BoxTurns {
  private readonly base: string;
  private readonly runsDir: string;
  private readonly env: Record<string, string>;
  private readonly supervisor: ReturnType<typeof createSupervisor>;
  private readonly held = new Map<string, Promise<Held>>();

  /** `env` is the environment of agents on this machine. Variables from the hub override it. */
  constructor(base: string, env: Record<string, string>) {
    this.base = base;
    this.runsDir = join(base, 'runs');
    this.env = env;
    this.supervisor = createSupervisor({ runsDir: this.runsDir });
  }

  async start({ turn }: Ask<'start'>): Promise<TurnState> {
    for (;;) {
      const { state } = await this.hold(turn, () => this.begin(turn));
      // The turn was found by another request in the meantime.
      if (state.state !== 'never_started') return state;
    }
  }

  async find({ turn, keepLeftovers }: Ask<'find'>): Promise<TurnState> {
    return (await this.hold(turn, () => this.look(turn, keepLeftovers))).state;
  }

  async read(ask: Ask<'read'>): Promise<{ answer: Ops['read']['answer']; body?: Buffer }> {
    const { turn, from, max, waitMs } = ask;
    const folder = turnFolder(this.runsDir, turn);
    const until = performance.now() + waitMs;
    const held = await this.hold(turn, () => this.look(turn, ask.keepLeftovers));
    for (;;) {
      // The state is read before the output: if the turn has ended by then, the output below is complete.
      const { state } = held;
      for (const stream of STREAMS) {
        const body = readAt(join(folder, stream), from[stream], max);
        if (body.length > 0) return { answer: { stream }, body };
      }
      const left = until - performance.now();
      if (state.state !== 'live') return { answer: { state } };
      if (left <= 0) return { answer: {} };
      await changed(folder, Math.min(left, LOOK_MS), held.live!.ended);
    }
  }

  async stop({ turn, graceMs }: Ask<'stop'>): Promise<object> {
    (await this.hold(turn, () => this.look(turn, false))).live?.stop(graceMs);
    return {};
  }

  async stats({ turn }: Ask<'stats'>): Promise<{ stats: ProcessStats | null }> {
    const { live } = await this.hold(turn, () => this.look(turn, false));
    return { stats: live && (await live.processStats()) };
  }

  /** Extends the leases of turns. A turn that was started without a lease gets none. */
  extend(leases: NonNullable<Ask<'ping'>['leases']>): void {
    for (const { until, ...turn } of leases) {
      const folder = turnFolder(this.runsDir, turn);
      if (hasLease(folder) && !hasExitRecord(folder)) writeLease(folder, until);
    }
  }

  /** Ends the agents of runs that the hub no longer knows, then removes their folders. */
  async removeOthers(kept: readonly string[]): Promise<void> {
    await Promise.all(
      namesIn(this.runsDir)
        .filter(runId => !kept.includes(runId))
        .map(async runId => {
          const folder = join(this.runsDir, runId);
          for (const name of namesIn(folder)) {
            const [, number] = /^turn-(\d+)$/.exec(name) ?? [];
            if (number === undefined || hasExitRecord(join(folder, name))) continue;
            const turn = { runId, number: Number(number) };
            const { live } = await this.hold(turn, () => this.look(turn, false));
            live?.stop(ORPHAN_GRACE_MS);
            await live?.ended;
          }
          rmSync(folder, { recursive: true, force: true });
        }),
    );
  }

  wrote({ turn }: Ask<'wrote'>): { names: string[] } {
    const known = new Set<string>([...STREAMS, 'pid', 'exit', 'gone', 'lease', 'lapsed']);
    const folder = turnFolder(this.runsDir, turn);
    // A turn that never started, or whose folder was removed by hand, counts as gone, so that the hub does not ask
    // for it again and again.
    const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
    const names = entries.flatMap(entry => (entry.isFile() && !known.has(entry.name) ? entry.name : []));
    return { names: names.filter(name => FILE_NAME.test(name)).slice(0, MAX_FILES) };
  }

  private hold(turn: TurnId, make: () => Promise<Held>): Promise<Held> {
    const key = keyOf(turn);
    const known = this.held.get(key) ?? make();
    this.held.set(key, known);
    const forget = () => this.held.delete(key);
    // A turn that was never started is not cached, because a start may follow.
    known.then(({ state }) => state.state === 'never_started' && forget(), forget);
    return known;
  }

  private async begin(turn: Ask<'start'>['turn']): Promise<Held> {
    const folder = turnFolder(this.runsDir, turn);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (takenAt(folder) !== null) return this.look(turn, turn.keepLeftovers);
    await this.endEarlier(turn);
    if (turn.lease) {
      const { until, ms } = turn.lease;
      const now = bootSeconds();
      // The request was delayed, or is older than the last restart of this machine. The hub may have given up the turn.
      if (now >= until || until - ms / 1000 > now)
        throw Object.assign(new Error('The lease was over before the turn could start'), {
          code: 'LEASE_OVER',
        });
      writeLease(folder, until);
    }
    for (const { path, text } of turn.files) writeBelow(this.base, path, text);
    const { runId, number, stdin, cwd, hardLimitMs, keepLeftovers } = turn;
    const command = {
      argv: turn.argv as [string, ...string[]],
      stdin: stdin === null || isAbsolute(stdin) ? stdin : join(this.base, stdin),
      env: { ...this.env, ...turn.env },
    };
    const live = await this.supervisor.start(
      { runId, number, command, cwd, sandbox: null, hardLimitMs },
      { keepLeftovers },
    );
    return heldLive(live, Date.now(), folder);
  }

  /**
   * Ends the agents of earlier turns of a run before the run starts again on this machine. An agent may still be there
   * if the machine was asleep.
   */
  private async endEarlier({ runId, number }: TurnId): Promise<void> {
    for (let earlier = 1; earlier < number; earlier++) {
      const turn = { runId, number: earlier };
      const folder = turnFolder(this.runsDir, turn);
      if (hasExitRecord(folder) || takenAt(folder) === null) continue;
      const { live } = await this.hold(turn, () => this.look(turn, false));
      live?.stop(0);
      await live?.ended;
    }
  }

  private async look(turn: TurnId, keepLeftovers: boolean): Promise<Held> {
    const found = await this.supervisor.find(turn, { keepLeftovers });
    const folder = turnFolder(this.runsDir, turn);
    if (found.state === 'live') return heldLive(found.turn, found.startedAt, folder);
    if (found.state === 'never_started')
      return { state: { state: 'never_started', pid: 0, startedAt: 0, end: null }, live: null };
    const { state, startedAt, end } = found;
    return { state: { state, pid: 0, startedAt, end: { ...end, lapsed: hasLapsed(folder) } }, live: null };
  }
}

function heldLive(live: LiveTurn, startedAt: number, folder: string): Held {
  const held: Held = { state: { state: 'live', pid: live.pid, startedAt, end: null }, live };
  void live.ended.then(end => {
    const state = end.exitCode === null ? 'gone' : 'ended';
    held.state = { ...held.state, state, end: { ...end, lapsed: hasLapsed(folder) } };
  });
  return held;
}

const keyOf = ({ runId, number }: TurnId): string => `${runId}/${number}`;

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the folder does not exist
  }
}

/** Reads up to `max` bytes. A negative offset counts from the end of the file. */
export function readAt(path: string, from: number, max: number): Buffer {
  const found = withRegular(path, fd => {
    const size = statSync(path).size;
    const at = from < 0 ? Math.max(0, size + from) : from;
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(max, size - at)));
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, at));
  });
  return found ?? Buffer.alloc(0);
}

/** Resolves when something in the folder may have changed, when the turn has ended, or after a while. */
async function changed(folder: string, ms: number, ended: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  let watcher: { close(): void } | null = null;
  try {
    watcher = watch(folder, () => resolve()).on('error', () => resolve());
  } catch {
    // The timer below is used alone where no file watch is available.
  }
  await Promise.race([promise, ended]);
  clearTimeout(timer);
  watcher?.close();
}
