import '../views.css';
import './machines.css';
import { useEffect, useState } from 'preact/hooks';
import { formatBytes, visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { showFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { onChanges } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { useChosen } from '../../ui/chosen.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';
import { toast } from '../../ui/toast.tsx';
import { WithCode } from '../../ui/with-code.tsx';
import { AddMachine } from './add-machine.tsx';

export type ShownMachine = Output<'list_machines'>['machines'][number];

const STATE_STYLES: Record<ShownMachine['state'], StatusStyle & { means: string }> = {
  up: { word: 'up', icon: 'check', tone: 'good', means: 'It is connected.' },
  connecting: { word: 'connecting', icon: 'half', tone: 'busy', means: 'Squad is connecting to it.' },
  away: { word: 'away', icon: 'warn', tone: 'bad', means: 'It does not answer. Squad keeps trying.' },
  idle: {
    word: 'idle',
    icon: 'clock',
    tone: 'calm',
    means: 'No run has needed it since the hub started. Squad connects when one does.',
  },
};
const DRAINING: StatusStyle = { word: 'draining', icon: 'stop', tone: 'ask' };

const REFRESH_MS = 5_000;
/** Difference between clocks that is worth showing. Squad converts times, so it does no harm. */
const CLOCK_NOTE_MS = 60_000;

/** `/machines`: other machines that run agents, with their state, runs and programs. */
export function MachinesPage() {
  const { data, error, reload } = useQuery('list_machines', {});
  const [asks, setAsks] = useState<{ what: 'add' | 'remove'; machine?: ShownMachine } | null>(null);
  const [checking, setChecking] = useState<readonly string[]>([]);
  const machines = data?.machines ?? [];
  const { current, moves } = useChosen(machines, 'machine');
  useEffect(() => {
    // The state of a connection is not part of the events, so it is polled.
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, REFRESH_MS);
    const stop = onChanges(({ events }) => {
      if (events.some(({ body }) => /^run\.(queued|started|ended)$/.test(body.type))) reload();
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [reload]);

  const check = async ({ machine: { name } }: ShownMachine) => {
    if (checking.includes(name)) return;
    setChecking(names => [...names, name]);
    await call('check_machine', { name }).then(
      ({ problem }) => toast(problem ? `${name} cannot be used.` : `${name} is fine.`),
      (thrown: ApiError) => showFailure(thrown),
    );
    setChecking(names => names.filter(each => each !== name));
    reload();
  };
  const drain = async ({ machine: { name, isDraining } }: ShownMachine) => {
    await call('drain_machine', { name, isDraining: !isDraining }).then(
      () => toast(isDraining ? `${name} takes runs again.` : `${name} takes no new runs.`),
      (thrown: ApiError) => showFailure(thrown),
    );
    reload();
  };
  const onCurrent = (act: (machine: ShownMachine) => unknown) => () => void (current && act(current));
  const when = () => machines.length > 0;
  const remove = (machine: ShownMachine) => setAsks({ what: 'remove', machine });
  useKeys([
    ...moves,
    { key: 'a', what: 'Add a machine', run: () => setAsks({ what: 'add' }) },
    { key: 'c', what: 'Check this machine', run: onCurrent(check), when },
    { key: 'd', what: 'Drain this machine, or let it take runs again', run: onCurrent(drain), when },
    { key: 'x', what: 'Remove this machine', run: onCurrent(remove), when },
  ]);
  const close = () => {
    setAsks(null);
    reload();
  };
  return (
    <div class="machines">
      <PageHead title="Machines">Other machines that run agents, reached over SSH.</PageHead>
      {error && !data && <Problem error={error} onRetry={reload} />}
      {data && (
        <p class="page-tools">
          <Button keyName="a" onClick={() => setAsks({ what: 'add' })}>
            Add a machine
          </Button>
        </p>
      )}
      {data && machines.length === 0 && (
        <Empty title="No machines yet" command="squad machines add NAME USER@HOST">
          Every run is on this machine. Another machine needs sshd, Node, git and its agent CLIs, and nothing
          else.
        </Empty>
      )}
      {machines.length > 0 && (
        <Sheet
          columns={[
            ...['machine', 'state', '#runs', 'labels', 'engines', 'programs'],
            { name: <span class="unseen">actions</span> },
          ]}
        >
          {machines.map(machine => (
            <Row
              key={machine.machine.name}
              machine={machine}
              isCurrent={machine === current}
              isChecked={checking.includes(machine.machine.name)}
              onCheck={() => void check(machine)}
              onDrain={() => void drain(machine)}
              onRemove={() => remove(machine)}
            />
          ))}
        </Sheet>
      )}
      {asks?.what === 'add' && <AddMachine onClose={close} />}
      {asks?.machine && <RemoveMachine machine={asks.machine} onClose={close} />}
    </div>
  );
}

interface RowProps {
  machine: ShownMachine;
  isCurrent: boolean;
  isChecked: boolean;
  onCheck(): void;
  onDrain(): void;
  onRemove(): void;
}

function Row({ machine: shown, isCurrent, isChecked, onCheck, onDrain, onRemove }: RowProps) {
  const { machine, state, problem, running, queued } = shown;
  const { name, address, labels, facts, slots, isDraining } = machine;
  const style = STATE_STYLES[state];
  const key = (keyName: string) => (isCurrent ? keyName : undefined);
  return (
    <tr class={isCurrent ? 'current' : ''}>
      <td class="wide">
        <b>{name}</b>{' '}
        <span class="soft">
          <PlainLine text={address} />
        </span>
        {problem && (
          <div class="machine-problem">
            <p class="tone-bad">
              <PlainLine text={problem.message} />
            </p>
            {problem.suggestions.map(text => (
              <p key={text} class="soft">
                <WithCode text={visibleText(text)} />
              </p>
            ))}
          </div>
        )}
      </td>
      <td title={style.means}>
        <StatusMark style={style} />
        {isDraining && (
          <p>
            <StatusMark style={DRAINING} title="This machine takes no new runs." />
          </p>
        )}
      </td>
      <td class="num" data-name="runs">
        {running} of {slots ?? facts.cpus}
        {queued > 0 && ` +${queued} queued`}
      </td>
      <td data-name="labels">
        <Parts parts={Object.entries(labels).map(pair => pair.join('='))} none="none" />
      </td>
      <td data-name="engines">
        <Parts
          parts={facts.clis.map(({ cli, version }) => [cli, version].filter(Boolean).join(' '))}
          none="none found"
        />
      </td>
      <td class="wide" data-name="programs">
        <Parts parts={programsOf(facts)} none="unknown" />
      </td>
      <td class="wide">
        <p class="page-tools">
          <Button
            label={`Check ${name}`}
            keyName={key('c')}
            why={isChecked ? 'In progress' : null}
            onClick={onCheck}
          >
            Check
          </Button>
          <Button label={`Drain ${name}`} keyName={key('d')} isPressed={isDraining} onClick={onDrain}>
            Drain
          </Button>
          <Button label={`Remove ${name}`} keyName={key('x')} onClick={onRemove}>
            Remove
          </Button>
        </p>
      </td>
    </tr>
  );
}

/** Short texts of a machine, each kept on one line where it fits. */
function Parts({ parts, none }: { parts: readonly string[]; none: string }) {
  if (parts.length === 0) return <span class="faint">{none}</span>;
  return (
    <>
      {parts.map((text, index) => (
        <span key={index} class="machine-part">
          {visibleText(text)}
          {index < parts.length - 1 && ', '}
        </span>
      ))}
    </>
  );
}

function programsOf({
  os,
  node,
  git,
  diskFreeBytes,
  clockAheadMs,
}: ShownMachine['machine']['facts']): string[] {
  const minutes = Math.round(Math.abs(clockAheadMs) / 60_000);
  return [
    os,
    `Node ${node.replace(/^v/, '')}`,
    git === null ? 'no git: no work trees there' : `git ${git}`,
    ...(diskFreeBytes === null ? [] : [`${formatBytes(diskFreeBytes)} free`]),
    ...(Math.abs(clockAheadMs) > CLOCK_NOTE_MS
      ? [`clock ${minutes} min ${clockAheadMs > 0 ? 'ahead' : 'behind'}, times are converted`]
      : []),
  ];
}

function RemoveMachine({ machine: shown, onClose }: { machine: ShownMachine; onClose(): void }) {
  const { name } = shown.machine;
  const count = shown.running + shown.queued;
  const lost = count > 0;
  const effect = lost
    ? `${count} ${count === 1 ? 'run is' : 'runs are'} on it: those that run end as lost, queued ones are cancelled. If it is added again, agents that are still there are ended.`
    : 'Squad forgets the machine. Nothing is deleted there.';
  const remove = async () => {
    await call('remove_machine', { name, lost });
    toast(`${name} is removed.`);
  };
  return (
    <Confirm
      title={`Remove ${name}`}
      effect={effect}
      command={`squad machines rm ${shellWord(name)}${lost ? ' --lost' : ''}`}
      yes="Remove"
      onYes={remove}
      onClose={onClose}
    />
  );
}
