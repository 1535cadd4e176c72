import { resolve } from 'node:path';
import { formatBytes, visibleLine } from '../../base/text.ts';
import type { ListedMachine } from '../../operations/machines/machines.ts';
import { SquadError } from '../../schema/error.ts';
import type { Machine } from '../../schema/machines/machine.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { formatTable } from '../terminal/table.ts';

export async function listMachinesCommand(context: CliContext): Promise<number> {
  const answer = await HubClient.ask({}, 'list_machines');
  return printResult(context, answer, () => machineLines(answer.machines, context));
}

const noMachines = (): string[] => [
  withOwnCommand('No machines. Add one: squad machines add NAME USER@HOST'),
];

function machineLines(machines: ListedMachine[], { out, style }: CliContext): string[] {
  if (machines.length === 0) return noMachines();
  const columns = [
    ...['machine', 'address', 'state'].map(title => ({ title })),
    { title: 'runs', align: 'right' as const },
    ...['labels', 'engines'].map(title => ({ title })),
  ];
  const rows = machines.map(({ machine, state, running, queued }) => [
    machine.name,
    visibleLine(machine.address),
    machine.isDraining ? style.yellow(`${state}, draining`) : state === 'away' ? style.yellow(state) : state,
    `${running}/${machine.slots ?? machine.facts.cpus}${queued > 0 ? ` +${queued}` : ''}`,
    Object.entries(machine.labels)
      .map(([label, value]) => `${label}=${value}`)
      .join(' ') || '–',
    visibleLine(machine.facts.clis.map(({ cli }) => cli).join(' ')) || '–',
  ]);
  return [
    ...formatTable(columns, rows, out.columns, style),
    ...machines.flatMap(({ machine, problem }) =>
      problem ? ['', ...problemLines(machine, problem, style.yellow)] : [],
    ),
  ];
}

const problemLines = (
  { name }: Machine,
  { message, suggestions }: NonNullable<ListedMachine['problem']>,
  paint: (text: string) => string,
): string[] => [
  paint(`${name}: ${visibleLine(message)}`),
  ...suggestions.map(each => `  ${withOwnCommand(visibleLine(each))}`),
];

export interface AddOptions {
  label?: string[];
  slots?: number;
  sshConfig?: string;
}

export async function addMachineCommand(
  name: string,
  address: string,
  { label = [], slots, sshConfig }: AddOptions,
  context: CliContext,
): Promise<number> {
  const { machine } = await HubClient.ask({}, 'add_machine', {
    ...{ name, address },
    labels: Object.fromEntries(label.map(labelIn)),
    slots: slots ?? null,
    sshConfig: sshConfig === undefined ? null : resolve(sshConfig),
  });
  return printResult(context, { machine }, () => [
    `${name} is ready: Node ${visibleLine(machine.facts.node)}, ${machine.slots ?? machine.facts.cpus} runs at once.`,
    ...factLines(machine),
    withOwnCommand(`Use it: squad run --on ${shellWord(name)} ROLE "TASK"`),
  ]);
}

function labelIn(text: string): [string, string] {
  const [label = '', value, ...more] = text.split('=');
  if (value !== undefined && more.length === 0 && label !== '') return [label, value];
  throw new SquadError('INVALID_INPUT', `--label ${visibleLine(text)} is not of the form KEY=VALUE`);
}

const CLOCK_NOTE_MS = 60_000;

function factLines({ facts }: Machine): string[] {
  const { git, clis, diskFreeBytes, clockAheadMs } = facts;
  const engines = clis.map(({ cli, version }) => `${cli}${version === null ? '' : ` ${version}`}`);
  const clock = formatDuration(Math.abs(clockAheadMs));
  return [
    `  git      ${git === null ? 'not found: runs with a work tree cannot be placed there' : visibleLine(git)}`,
    `  engines  ${visibleLine(engines.join(', ')) || 'none found on the PATH of its login shell'}`,
    `  disk     ${diskFreeBytes === null ? 'unknown' : `${formatBytes(diskFreeBytes)} free`}`,
    ...(Math.abs(clockAheadMs) > CLOCK_NOTE_MS
      ? [`  clock    ${clock} ${clockAheadMs > 0 ? 'ahead' : 'behind'} (times are converted)`]
      : []),
  ];
}

/** Exit code 1 if a machine cannot be used. */
export async function doctorMachineCommand(names: string[], context: CliContext): Promise<number> {
  using client = await HubClient.start();
  const all = (await client.call('list_machines')).machines.map(({ machine }) => machine.name);
  const wanted = names.length > 0 ? names : all;
  const machines = await Promise.all(wanted.map(name => client.call('check_machine', { name })));
  printResult(context, { machines }, () =>
    machines.length === 0
      ? noMachines()
      : machines.flatMap(({ machine, state, problem }) => [
          `${machine.name} (${visibleLine(machine.address)}): ${problem ? context.style.yellow(state) : 'ok'}`,
          ...(problem ? problemLines(machine, problem, text => text) : factLines(machine)),
        ]),
  );
  return machines.every(({ problem }) => problem === null) ? EXIT.done : EXIT.failed;
}

export async function drainMachineCommand(
  name: string,
  { off = false }: { off?: boolean },
  context: CliContext,
): Promise<number> {
  const answer = await HubClient.ask({}, 'drain_machine', { name, isDraining: !off });
  return printResult(context, answer, () => [
    off ? `${name} takes runs again.` : `${name} takes no new runs. Runs that are on it continue.`,
  ]);
}

export async function removeMachineCommand(
  name: string,
  { lost = false }: { lost?: boolean },
  context: CliContext,
): Promise<number> {
  const answer = await HubClient.ask({}, 'remove_machine', { name, lost });
  return printResult(context, answer, () => [
    `${name} is removed.${answer.lost.length > 0 ? ` Lost: ${answer.lost.join(', ')}.` : ''}`,
  ]);
}
