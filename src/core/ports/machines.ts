import type { InstalledCli } from '../../schema/engine-spec.ts';
import type { Machine, MachineState } from '../../schema/machines/machine.ts';

/** Agent CLIs of another machine, as it reported them. */
export type FoundClis = readonly Pick<InstalledCli, 'cli' | 'program' | 'version'>[];

export interface MachineStatus {
  machine: Machine;
  state: MachineState;
  /** Why the machine is away. Null if it is not away. */
  problem: { code: string; message: string; suggestions: string[] } | null;
}

/** Other machines on which runs can be placed. */
export interface Machines {
  /**
   * Chooses the machine for a new run, by name or by `label=value`. Null for the hub's own machine. Throws
   * MACHINE_UNKNOWN and MACHINE_DRAINING.
   */
  choose(asked: string): Machine | null;
  /**
   * Agent CLIs of a machine. Undefined for the hub's own machine, whose CLIs are searched on PATH. Throws
   * MACHINE_UNKNOWN.
   */
  clis(name: string | null): FoundClis | undefined;
  /** Number of runs that the machine accepts at once. 0 while it is away. */
  places(name: string): number;
  isAway(name: string): boolean;
}

export interface MachineAdmin extends Machines {
  list(): MachineStatus[];
  /** Connects, sends the runner, and remembers the machine. Throws MACHINE_UNREACHABLE and MACHINE_UNSUITABLE. */
  add(machine: Pick<Machine, 'name' | 'address' | 'sshConfig' | 'labels' | 'slots'>): Promise<Machine>;
  /** Connects if needed, and asks the machine for its facts. */
  check(name: string): Promise<MachineStatus>;
  drain(name: string, isDraining: boolean): Promise<Machine>;
  /** Forgets the machine. Turns that are still on it are lost for this hub. */
  remove(name: string): Promise<void>;
}
