import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { FoundClis, MachineAdmin, MachineStatus } from '../core/ports/machines.ts';
import type { Store } from '../core/ports/store.ts';
import type { CliId } from '../schema/engine-spec.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { LOCAL, Machine, type MachineFacts } from '../schema/machines/machine.ts';
import { shellWord } from '../schema/shell-word.ts';
import { loadRunner, type RunnerProgram, sshCommand, startScript } from './bootstrap.ts';
import type { Desk } from './desk.ts';
import { Link } from './link.ts';

export interface MachinesPorts {
  clock: Clock;
  store: Pick<Store, 'settings' | 'setSetting'>;
  /** Environment of ssh. */
  env: Record<string, string>;
  runnerFile: string;
  /** Names of the agent CLIs' programs to search for. */
  clis(): { cli: CliId; programs: readonly string[] }[];
  /** Number of runs on the machine that have not ended. */
  busy(name: string): number;
  /** Runs and work trees whose files have to stay on a machine. */
  kept(name: string): Promise<{ runs: string[]; worktrees: string[] }>;
  /** Handles requests of agents on the machines. */
  desk: Pick<Desk, 'take' | 'id'>;
  /** Called when a machine may have free slots. */
  onChange(): void;
  warn(message: string, cause?: unknown): void;
}

interface Known {
  machine: Machine;
  link: Link | null;
  problem: SquadError | null;
  tidying: NodeJS.Timeout | null;
}

const TIDY_MS = 60_000;

/** Prefix of rows in the settings table, which a rebuilt database keeps. */
const ROW = 'machine.';
const HUB_ID = 'machines.hub';

export class BoxMachines implements MachineAdmin {
  private readonly ports: MachinesPorts;
  private readonly known = new Map<string, Known>();
  private runner: RunnerProgram | null = null;
  private hub: string | null = null;
  /**
   * True once all runs of an earlier hub are known. Before that, their agents and files must not be removed from
   * machines.
   */
  private mayTidy = false;
  /**
   * Number of runs that were placed on each machine just now and are not live yet. Counted to spread runs that are
   * placed in quick succession.
   */
  private readonly chosen = new Map<string, number>();

  constructor(ports: MachinesPorts) {
    this.ports = ports;
  }

  async load(): Promise<void> {
    const stored = await this.ports.store.settings();
    this.hub = stored[HUB_ID] ?? null;
    for (const [key, value] of Object.entries(stored)) {
      if (!key.startsWith(ROW)) continue;
      const machine = Machine.safeParse(parsed(value));
      if (machine.success) this.known.set(machine.data.name, { machine: machine.data, ...UNUSED });
      else this.ports.warn(`The machine ${key.slice(ROW.length)} cannot be read and is left out`);
    }
  }

  choose(asked: string): Machine | null {
    if (asked === LOCAL) return null;
    const [label, value] = asked.split('=', 2);
    if (value === undefined) {
      const { machine } = this.get(asked);
      if (machine.isDraining) throw draining(machine.name);
      return machine;
    }
    const fits = [...this.known.values()].filter(({ machine }) => machine.labels[label!] === value);
    const open = fits.filter(({ machine }) => !machine.isDraining);
    const [first] = open.toSorted((one, other) => this.fullness(one) - this.fullness(other));
    if (!first)
      throw new SquadError(
        'MACHINE_UNKNOWN',
        fits.length > 0
          ? `Every machine with the label ${asked} is draining`
          : `No machine has the label ${asked}`,
        { suggestions: ['`squad machines ls` lists the machines with their labels.'] },
      );
    const { name } = first.machine;
    this.chosen.set(name, (this.chosen.get(name) ?? 0) + 1);
    setImmediate(() => this.chosen.delete(name));
    return first.machine;
  }

  clis(name: string | null): FoundClis | undefined {
    if (name === null) return undefined;
    return this.get(name).machine.facts.clis.map(found => ({ ...found, cli: found.cli as CliId }));
  }

  places(name: string): number {
    const known = this.known.get(name);
    if (!known || known.machine.isDraining) return 0;
    return this.connected(known).state === 'up' ? slotsOf(known.machine) : 0;
  }

  isAway(name: string): boolean {
    return this.known.get(name)?.link?.state !== 'up';
  }

  list(): MachineStatus[] {
    return [...this.known.values()]
      .toSorted((one, other) => one.machine.name.localeCompare(other.machine.name))
      .map(statusOf);
  }

  /** The link of a machine. Connects at the first call. Throws MACHINE_UNKNOWN. */
  link(name: string): Link {
    return this.connected(this.get(name));
  }

  async add(asked: Parameters<MachineAdmin['add']>[0]): Promise<Machine> {
    if (this.known.has(asked.name))
      throw new SquadError('INVALID_INPUT', `There is a machine ${asked.name} already`, {
        suggestions: [
          `Choose another name, or remove it first: \`squad machines rm ${shellWord(asked.name)}\`.`,
        ],
      });
    await this.ensureHub();
    const machine: Machine = {
      ...asked,
      isDraining: false,
      addedAt: this.ports.clock.now(),
      facts: NO_FACTS,
    };
    const entry: Known = { machine, ...UNUSED };
    const link = this.connected(entry);
    try {
      const failed = await link.firstAttempt();
      if (failed) throw failed;
      entry.machine = { ...machine, facts: await this.factsOf(link) };
    } catch (thrown) {
      link.close('removed');
      const { code, message, suggestions } = asSquadError(thrown);
      throw new SquadError(code, `${asked.name} (${asked.address}) cannot be added: ${message}`, {
        suggestions,
      });
    }
    this.known.set(asked.name, entry);
    await this.save(entry);
    // If the machine was known before, agents from that time may still be running there.
    void this.tidy(asked.name, link);
    this.ports.onChange();
    return entry.machine;
  }

  async check(name: string): Promise<MachineStatus> {
    const known = this.get(name);
    const link = this.connected(known);
    link.hurry();
    if ((await link.firstAttempt()) === null) await this.refresh(known, link);
    return statusOf(known);
  }

  async drain(name: string, isDraining: boolean): Promise<Machine> {
    const known = this.get(name);
    known.machine = { ...known.machine, isDraining };
    await this.save(known);
    this.ports.onChange();
    return known.machine;
  }

  async remove(name: string): Promise<void> {
    const { link } = this.get(name);
    this.known.delete(name);
    await this.ports.store.setSetting(`${ROW}${name}`, null);
    link?.close('removed');
  }

  /** Called once all runs of an earlier hub are known. From now on, agents and files of unknown runs are removed from machines. */
  runsAreKnown(): void {
    this.mayTidy = true;
    for (const { machine, link } of this.known.values())
      if (link?.state === 'up') void this.tidy(machine.name, link); // a machine that is not connected is tidied when it connects
  }

  /** Removes, after a delay, the files that ended runs left on the machine. */
  tidySoon(name: string): void {
    const known = this.known.get(name);
    if (!known || known.tidying) return;
    known.tidying = setTimeout(() => {
      known.tidying = null;
      if (known.link?.state !== 'up') return; // a machine that is not connected is tidied when it connects
      void this.tidy(name, known.link);
    }, TIDY_MS).unref();
  }

  /** Closes all links. Agents keep running, and the next hub connects again. */
  close(): void {
    for (const { link } of this.known.values()) link?.close('stopped');
  }

  private get(name: string): Known {
    const known = this.known.get(name);
    if (known) return known;
    const names = [...this.known.keys()];
    throw new SquadError('MACHINE_UNKNOWN', `There is no machine ${name}`, {
      suggestions: [
        names.length > 0
          ? `Machines: ${names.join(', ')}. This machine is \`${LOCAL}\`.`
          : `Add it first: \`squad machines add ${shellWord(name)} USER@HOST\`.`,
      ],
    });
  }

  private fullness({ machine }: Known): number {
    const { name } = machine;
    const runs = this.ports.busy(name) + (this.chosen.get(name) ?? 0);
    // A machine that is away is the last choice.
    const isAway = this.known.get(name)?.problem !== null;
    return runs / slotsOf(machine) + (isAway ? 1e6 : 0);
  }

  private connected(known: Known): Link {
    const { machine } = known;
    this.runner ??= loadRunner(this.ports.runnerFile);
    known.link ??= new Link({
      argv: sshCommand(machine),
      ...{ env: this.ports.env, cwd: '/' },
      script: startScript(this.runner, this.hub!),
      program: this.runner.content,
      onHello: hello => {
        const { facts } = known.machine;
        if (facts.machine === '' || facts.machine === hello.machine) return;
        throw new SquadError(
          'MACHINE_UNSUITABLE',
          `${machine.address} is another machine than the one that was added`,
          {
            suggestions: [
              `If you replaced the machine on purpose, remove it and add it again: \`squad machines rm ${shellWord(machine.name)}\`.`,
            ],
          },
        );
      },
      onCall: (head, body) =>
        this.ports.desk.take(machine.name, head, body, (part, bytes) => known.link?.tell(part, bytes)),
      onState: (state, problem) => {
        known.problem = problem;
        if (state === 'up') known.link?.tell({ t: 'desk', id: this.ports.desk.id });
        if (state === 'up' && this.known.has(machine.name)) void this.onUp(known, known.link!);
        this.ports.onChange();
      },
    });
    return known.link;
  }

  private async onUp(known: Known, link: Link): Promise<void> {
    try {
      await this.refresh(known, link);
    } catch (thrown) {
      this.ports.warn(`${known.machine.name} could not be asked for its state`, thrown);
    }
    await this.tidy(known.machine.name, link);
  }

  /**
   * Removes the files of ended runs from a machine. The request is not repeated over a later connection, because runs
   * may have started in the meantime.
   */
  private async tidy(name: string, link: Link): Promise<void> {
    if (!this.mayTidy) return;
    try {
      await link.ask('keep', await this.ports.kept(name), { isOnce: true });
    } catch (thrown) {
      this.ports.warn(`What ended runs left on ${name} could not be removed`, thrown);
    }
  }

  private async refresh(known: Known, link: Link): Promise<void> {
    known.machine = { ...known.machine, facts: await this.factsOf(link) };
    await this.save(known);
  }

  private async factsOf(link: Link): Promise<MachineFacts> {
    const clis = this.ports.clis().map(({ cli, programs }) => ({ cli, programs: [...programs] }));
    const { now: _, ...found } = (await link.ask('probe', { clis })).answer;
    const { machine, os, cpus } = link.hello!;
    return { machine, os, cpus, ...found, clockAheadMs: Math.round(link.clockAheadMs) };
  }

  private async save({ machine }: Known): Promise<void> {
    if (!this.known.has(machine.name)) return;
    await this.ports.store.setSetting(`${ROW}${machine.name}`, JSON.stringify(machine));
  }

  private async ensureHub(): Promise<void> {
    if (this.hub !== null) return;
    this.hub = `h_${randomBytes(8).toString('hex')}`;
    await this.ports.store.setSetting(HUB_ID, this.hub);
  }
}

const UNUSED = { link: null, problem: null, tidying: null };

const NO_FACTS: MachineFacts = {
  ...{ machine: '', os: '', node: '', git: null, cpus: 1, diskFreeBytes: null, clockAheadMs: 0, clis: [] },
};

const slotsOf = ({ slots, facts }: Machine): number => slots ?? facts.cpus;

function statusOf({ machine, link, problem }: Known): MachineStatus {
  const state =
    link === null ? 'idle' : link.state === 'up' ? 'up' : problem === null ? 'connecting' : 'away';
  return {
    machine,
    state,
    problem: problem && {
      code: problem.code,
      message: problem.message,
      suggestions: [...problem.suggestions],
    },
  };
}

const draining = (name: string): SquadError =>
  new SquadError('MACHINE_DRAINING', `${name} is draining: it takes no new runs`, {
    suggestions: [`\`squad machines drain ${shellWord(name)} --off\` lets it take runs again.`],
  });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
