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

/** Identifies clients, and decides which clients of a later version may replace this hub by their own. */
export class Clients {
  /** Facts that identify a caller. */
  readonly identities: CallerPorts;
  private readonly ports: ClientPorts;
  private readonly proofs: ReturnType<typeof createProcessProofs>;
  private readonly startedByUser = createStartedByUser();
  /** Determined once per connection. */
  private readonly callers = new WeakMap<Handshake, Caller>();
  private readonly possibleSuccessors = new WeakSet<Handshake>();
  /** Newer clients that are connected and can take over. */
  private readonly successors = new Set<Handshake>();
  /** Start of the first run that this hub knows, on the monotonic clock. */
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

  /** A start in the future was stored before the clock was set back. Its age is unknown, so no process counts as older. */
  runBegan(at: number): void {
    const { clock } = this.ports;
    const began = at > clock.now() ? Number.NEGATIVE_INFINITY : monotonicOf(clock, at);
    this.firstRunAt = Math.min(this.firstRunAt, began);
  }

  /**
   * Identifies the client of a handshake: a run or the user, and whether it is certainly the user with a later version. Where
   * the system allows it, every client has to prove which process it is.
   */
  async identify(handshake: Handshake, ask: (file: string) => void): Promise<Caller> {
    const isLater = handshake.startsHub === true && isNewer(handshake.version, this.ports.version);
    // Also while no run is running: an earlier run may have left a process behind.
    const proven = canProveProcesses ? await this.proofs.processOf(handshake.pid, ask) : handshake.pid;
    const pid = proven ?? handshake.pid;
    const caller = await callerOfHandshake({ ...handshake, pid }, this.identities, proven !== null);
    if (isLater && caller.parent === null && (await this.mayHandOver(pid)))
      this.possibleSuccessors.add(handshake);
    this.callers.set(handshake, caller);
    return caller;
  }

  /** Only for a client that `identify` accepted. */
  callerOf(handshake: Handshake): Caller {
    return this.callers.get(handshake)!;
  }

  /** False when the client is not proven to be the user's. */
  welcomeSuccessor(handshake: Handshake): boolean {
    if (!this.possibleSuccessors.has(handshake)) return false;
    this.successors.add(handshake);
    return true;
  }

  /** Whether another successor is connected. */
  dropSuccessor(handshake: Handshake): boolean {
    this.successors.delete(handshake);
    return this.successors.size > 0;
  }

  /** Version that will replace this hub. */
  get successor(): string | null {
    return [...this.successors][0]?.version ?? null;
  }

  private async mayHandOver(pid: number): Promise<boolean> {
    return !this.hasKnownRuns || (canProveProcesses && (await this.isOlderThanRuns(pid)));
  }

  /** The system reports start times of processes by the wall clock as it is set now. */
  private isOlderThanRuns(pid: number): Promise<boolean> {
    return this.startedByUser(pid, wallTimeOf(this.ports.clock, this.firstRunAt));
  }
}
