import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { monotonicOf, wallTimeOf } from '../core/runs/admission.ts';
import { type CallerPorts, callerOfHandshake } from '../hub/callers.ts';
import { type Handshake, isNewer } from '../link/handshake.ts';
import { createStartedByUser } from '../process/table/run-of-process.ts';
import { canProveProcesses, createProcessProofs } from '../process/table/socket-holder.ts';

interface ClientPorts extends Omit<CallerPorts, 'isUsers'> {
  home: string;
  version: string;
  clock: Clock;
}

/** Identifies clients, and decides which clients with a later version may replace this hub with their own. */
export class Clients {
  readonly identities: CallerPorts;
  private readonly ports: ClientPorts;
  private readonly proofs: ReturnType<typeof createProcessProofs>;
  private readonly startedByUser = createStartedByUser();
  /** Cached, because the caller of a connection never changes. */
  private readonly callers = new WeakMap<Handshake, Caller>();
  private readonly possibleSuccessors = new WeakSet<Handshake>();
  /** Connected clients with a newer version that may replace this hub. */
  private readonly successors = new Set<Handshake>();
  /** Start time of the first run that this hub knows, on the monotonic clock. */
  private firstRunAt = Number.POSITIVE_INFINITY;

  constructor(ports: ClientPorts) {
    this.ports = ports;
    this.proofs = createProcessProofs(join(ports.home, 'proofs'));
    const { liveRuns, run, environment, runOfProcess } = ports;
    this.identities = {
      ...{ liveRuns, run, environment, runOfProcess },
      isUsers: async pid => !canProveProcesses || !this.hasKnownRuns || this.isOlderThanRuns(pid),
    };
  }

  get hasKnownRuns(): boolean {
    return this.firstRunAt < Number.POSITIVE_INFINITY;
  }

  /**
   * A start time in the future was stored before the clock was set back. The age of that run is unknown, so no
   * process counts as older than it.
   */
  runBegan(at: number): void {
    const { clock } = this.ports;
    const began = at > clock.now() ? Number.NEGATIVE_INFINITY : monotonicOf(clock, at);
    this.firstRunAt = Math.min(this.firstRunAt, began);
  }

  /**
   * Identifies the client of a handshake: whether it is a run or the user, and whether it is certainly the user with
   * a later version. Where the system allows it, every client has to prove which process it is.
   */
  async identify(handshake: Handshake, ask: (file: string) => void): Promise<Caller> {
    const isLater = handshake.startsHub === true && isNewer(handshake.version, this.ports.version);
    // Clients have to prove their process even while no run is running, because an earlier run may have left a
    // process behind.
    const proven = canProveProcesses ? await this.proofs.processOf(handshake.pid, ask) : handshake.pid;
    const pid = proven ?? handshake.pid;
    const caller = await callerOfHandshake({ ...handshake, pid }, this.identities, proven !== null);
    if (isLater && caller.parent === null && (await this.mayHandOver(pid)))
      this.possibleSuccessors.add(handshake);
    this.callers.set(handshake, caller);
    return caller;
  }

  /** Call this only for a client that `identify` accepted. */
  callerOf(handshake: Handshake): Caller {
    return this.callers.get(handshake)!;
  }

  /** Returns false when the client is not proven to be the user's. */
  welcomeSuccessor(handshake: Handshake): boolean {
    if (!this.possibleSuccessors.has(handshake)) return false;
    this.successors.add(handshake);
    return true;
  }

  /** Returns whether another client with a later version is still connected. */
  dropSuccessor(handshake: Handshake): boolean {
    this.successors.delete(handshake);
    return this.successors.size > 0;
  }

  /** Version of the newer client that will replace this hub. */
  get successor(): string | null {
    return [...this.successors][0]?.version ?? null;
  }

  private async mayHandOver(pid: number): Promise<boolean> {
    return !this.hasKnownRuns || (canProveProcesses && (await this.isOlderThanRuns(pid)));
  }

  /** The operating system derives start times of processes from the current setting of the wall clock. */
  private isOlderThanRuns(pid: number): Promise<boolean> {
    return this.startedByUser(pid, wallTimeOf(this.ports.clock, this.firstRunAt));
  }
}
