import type { Command } from 'commander';
import { type CommandMaker, examples, wholeNumber } from '../arguments.ts';
import {
  type AddOptions,
  addMachineCommand,
  doctorMachineCommand,
  drainMachineCommand,
  listMachinesCommand,
  removeMachineCommand,
} from './machines.ts';

/** Commands for other machines. */
export function addMachineCommands(program: Command, { command, does }: CommandMaker): void {
  const machines = program
    .command('machines')
    .description('Manage other machines that run agents, over SSH')
    .exitOverride();
  command(machines, 'add <name> <address>', 'Add a machine: USER@HOST, or a name of your ssh configuration')
    .option(
      '--label <key=value>',
      'Label for `--on key=value`; may be repeated',
      (text, all: string[]) => [...all, text],
      [],
    )
    .option('--slots <n>', 'Maximum number of runs at once (default: one per processor)', text =>
      wholeNumber('--slots', text, 1, 1000),
    )
    .option('--ssh-config <file>', 'ssh configuration to use instead of your own')
    .addHelpText('after', examples('squad machines add box1 me@box1.example.com --label gpu=yes --slots 4'))
    .action(
      does((context, name: string, address: string, options: AddOptions) =>
        addMachineCommand(name, address, options, context),
      ),
    );
  command(machines, 'ls', 'List the machines, their state and their runs').action(
    does(context => listMachinesCommand(context)),
  );
  command(machines, 'doctor [machines...]', 'Connect to machines and check what they need').action(
    does((context, names: string[]) => doctorMachineCommand(names, context)),
  );
  command(machines, 'drain <machine>', 'Place no new runs on a machine')
    .option('--off', 'Allow new runs on the machine again')
    .action(
      does((context, name: string, options: { off?: boolean }) =>
        drainMachineCommand(name, options, context),
      ),
    );
  command(machines, 'rm <machine>', 'Remove a machine')
    .option('--lost', 'Remove the machine even if runs are on it; these runs end as lost')
    .action(
      does((context, name: string, options: { lost?: boolean }) =>
        removeMachineCommand(name, options, context),
      ),
    );
}
