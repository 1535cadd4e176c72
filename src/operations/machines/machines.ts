import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { Machine, MachineName, MachineState } from '../../schema/machines/machine.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { operation, type UserServices } from '../operation.ts';

const Status = z.object({
  machine: Machine,
  state: MachineState,
  problem: z.object({ code: z.string(), message: z.string(), suggestions: z.array(z.string()) }).nullable(),
  /** Number of runs on the machine that have not ended. */
  running: z.number(),
  queued: z.number(),
});
export type ListedMachine = z.infer<typeof Status>;

type Known = ReturnType<UserServices['machines']['list']>[number];

const listed = ({ runner }: UserServices, known: Known): ListedMachine => {
  const runs = runner.liveRuns().filter(({ options }) => options.machine === known.machine.name);
  const queued = runs.filter(({ status }) => status === 'queued').length;
  return { ...known, running: runs.length - queued, queued };
};

export const listMachines = operation({
  name: 'list_machines',
  route: 'GET /machines',
  input: z.strictObject({}),
  output: z.object({ machines: z.array(Status) }),
  run: async ({ services }) => ({ machines: services.machines.list().map(known => listed(services, known)) }),
});

/** An address that begins with a dash would be an option of ssh. */
const Address = z
  .string()
  .min(1)
  .max(300)
  .regex(
    /^[^-\s][^\s]*$/,
    'an address is USER@HOST, a name of your ssh configuration, or ssh://USER@HOST:PORT',
  );
const Label = z.string().regex(/^[\w.-]{1,60}$/, 'labels are letters, digits, dots, dashes and underscores');

export const addMachine = operation({
  name: 'add_machine',
  route: 'POST /machines',
  input: z.strictObject({
    name: MachineName,
    address: Address,
    labels: z.record(Label, Label).default({}),
    slots: Machine.shape.slots.default(null),
    sshConfig: z.string().startsWith('/').nullable().default(null),
  }),
  output: z.object({ machine: Machine }),
  run: async ({ services }, asked) => ({ machine: await services.machines.add(asked) }),
});

const named = { name: z.string() };

/** Connects to a machine, and asks again for its programs, disk space and clock. */
export const checkMachine = operation({
  name: 'check_machine',
  route: 'POST /machines/{name}/check',
  input: z.strictObject(named),
  output: Status,
  run: async ({ services }, { name }) => listed(services, await services.machines.check(name)),
});

export const drainMachine = operation({
  name: 'drain_machine',
  route: 'POST /machines/{name}/drain',
  input: z.strictObject({ ...named, isDraining: z.boolean().default(true) }),
  output: z.object({ machine: Machine }),
  run: async ({ services }, { name, isDraining }) => ({
    machine: await services.machines.drain(name, isDraining),
  }),
});

/** Removes a machine. With `lost`, runs that are still on it end as lost. */
export const removeMachine = operation({
  name: 'remove_machine',
  route: 'POST /machines/{name}/remove',
  input: z.strictObject({ ...named, lost: z.boolean().default(false) }),
  output: z.object({ lost: z.array(z.string()) }),
  async run({ services }, { name, lost }) {
    const { runner, machines } = services;
    const there = runner.liveRuns().filter(({ options }) => options.machine === name);
    if (there.length > 0 && !lost)
      throw new SquadError(
        'MACHINE_IN_USE',
        `${there.length} ${there.length === 1 ? 'run is' : 'runs are'} on ${name}: ${there.map(({ id }) => id).join(', ')}`,
        {
          suggestions: [
            `\`squad machines drain ${shellWord(name)}\` allows no new runs there while these runs end.`,
            `If the machine never comes back: \`squad machines rm ${shellWord(name)} --lost\` removes it and ends its runs as lost.`,
          ],
        },
      );
    await machines.remove(name);
    // Queued runs would wait forever for a slot of the removed machine.
    const queued = there.filter(({ status }) => status === 'queued');
    await Promise.all(
      queued.map(({ id }) => runner.stop(id, 'cancel', { name: 'squad machines rm', folder: null })),
    );
    return { lost: there.map(({ id }) => id) };
  },
});
