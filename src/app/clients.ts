import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { monotonicOf, wallTimeOf } from '../core/runs/admission.ts';
import { type CallerPorts, callerOfHandshake } from '../hub/callers.ts';
import { type Handshake, isNewer } from '../link/handshake.ts';
import { canProveProcesses, createProcessProofs } from '../process/table/prove-process.ts';
import { createStartedByUser } from '../process/table/run-of-process.ts';

interface ClientPorts extends Omit<CallerPorts, 'isUsers'> {
  home: string;
  version: string;
  clock: Clock;
}

/** Decides who is at the other end of a connection, and which clients may replace this hub by one of their own, later version. */
export class Clients {
  /** Facts that identify a caller. */
  readonly identities: CallerPorts;
  private readonly ports: ClientPorts;
  private readonly proofs: ReturnType<typeof createProcessProofs>;
  private readonly startedByUser = createStartedByUser();
  /** Found out once for each connection. */
  private readonly callers = new WeakMap<Handshake, Caller>();
  private readonly heirs = new WeakSet<Handshake>();
  /** Newer clients that are connected and can take over. */
  private readonly successors = new Set<Handshake>();
  /** When the first run began that this hub has known, on the monotonic clock. */
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

  /** A start in the future was stored before the clock was set back: nobody knows how long ago it was, so no process is older. */
  runBegan(at: number): void {
    const { clock } = this.ports;
    const began = at > clock.now() ? Number.NEGATIVE_INFINITY : monotonicOf(clock, at);
    this.firstRunAt = Math.min(this.firstRunAt, began);
  }

  /**
   * Identifies the client of a handshake: a run or the user, and whether it is certainly the user with a later version. Every
   * client has to prove its process where the system can tell.
   */
  async identify(hello: Handshake, ask: (file: string) => void): Promise<Caller> {
    const isLater = hello.startsHub === true && isNewer(hello.version, this.ports.version);
    // Also while no run is live: a run that ended may have left a process behind.
    const proven = canProveProcesses ? await this.proofs.processOf(hello.pid, ask) : hello.pid;
    const pid = proven ?? hello.pid;
    const caller = await callerOfHandshake({ ...hello, pid }, this.identities, proven !== null);
    if (isLater && caller.parent === null && (await this.mayHandOver(pid))) this.heirs.add(hello);
    this.callers.set(hello, caller);
    return caller;
  }

  /** Identities of clients that were proven. */
  callerOf(hello: Handshake): Caller {
    return this.callers.get(hello)!;
  }

  /** False when it is not proven to be the user's. */
  welcomeSuccessor(hello: Handshake): boolean {
    if (!this.heirs.has(hello)) return false;
    this.successors.add(hello);
    return true;
  }

  /** Whether another one is still here. */
  dropSuccessor(hello: Handshake): boolean {
    this.successors.delete(hello);
    return this.successors.size > 0;
  }

  /** The version that is to replace this hub. */
  get successor(): string | null {
    return [...this.successors][0]?.version ?? null;
  }

  private async mayHandOver(pid: number): Promise<boolean> {
    return !this.hasKnownRuns || (canProveProcesses && (await this.isOlderThanRuns(pid)));
  }

  /** Start times of processes are by the wall clock as it is set now. */
  private isOlderThanRuns(pid: number): Promise<boolean> {
    return this.startedByUser(pid, wallTimeOf(this.ports.clock, this.firstRunAt));
  }
}
