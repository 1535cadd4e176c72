import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusWord } from '../../ui/status.tsx';
import { statusStyle } from '../../ui/status-style.ts';
import { toast } from '../../ui/toast.tsx';
import { sentences } from '../sentences.ts';
import { type BacklogItem, roleOf, taskText } from './task-text.ts';

interface StartItemProps {
  item: BacklogItem;
  workspace: string;
  onClose(): void;
}

/** Shows the last run of an item and its status. */
export function ItemRun({ run }: { run: NonNullable<BacklogItem['run']> }) {
  return (
    <a class="item-run" href={`/r/${run.id}`}>
      <StatusWord status={run.status} />
    </a>
  );
}

/** Dialog that starts a run for one item: its role, and whether it gets a work tree. */
export function StartItem({ item, workspace, onClose }: StartItemProps) {
  const { route } = useLocation();
  const roles = useQuery('list_roles', {}, { workspace });
  const [chosen, setChosen] = useState<string | null>(null);
  const [task, setTask] = useState(taskText(item));
  const [isApart, setApart] = useState(true);
  const known = roles.data?.roles ?? [];
  const role =
    chosen ?? roleOf(item.owner, known) ?? known.find(({ id }) => id === 'coder')?.id ?? known[0]?.id;

  if (roles.error && !roles.data)
    return (
      <Dialog title="Start a run for this item" onClose={onClose}>
        <Problem error={roles.error} onRetry={roles.reload} />
      </Dialog>
    );
  if (role === undefined) return null;
  const start = async () => {
    const members = [{ roleId: role, task, backlog: item.key }];
    const isolation = isApart ? ({ isolation: 'worktree' } as const) : {};
    const { squadId, runIds, warnings } = await call(
      'start_squad',
      { members, ...isolation, again: item.run !== null },
      { workspace },
    );
    toast(sentences(['Started', ...warnings]));
    route(runIds.length === 1 ? `/r/${runIds[0]}/activity` : `/s/${squadId}`);
  };
  return (
    <Confirm
      title={item.run ? 'Start another run for this item' : 'Start a run for this item'}
      effect={`${item.run ? `This item was started before: ${item.run.id}, ${statusStyle(item.run.status).word}. ` : ''}Starts one agent as ${role} in ${workspace}, ${isApart ? 'in its own work tree and branch' : 'in the folder itself'}. The backlog file is not changed.`}
      command={`squad run ${shellWord(role)} ${shellWord(task)}${isApart ? ' --worktree' : ''} --workspace ${shellWord(workspace)}`}
      yes={item.run ? 'Start again' : 'Start'}
      tone="main"
      onYes={start}
      onClose={onClose}
    >
      <label class="start-field">
        Role
        <select value={role} onChange={event => setChosen(event.currentTarget.value)}>
          {known.map(({ id, name }) => (
            <option key={id} value={id}>
              {name === id ? id : `${id} (${name})`}
            </option>
          ))}
        </select>
      </label>
      <label class="start-field">
        Task
        <textarea rows={5} required value={task} onInput={event => setTask(event.currentTarget.value)} />
      </label>
      <label class="start-check">
        <input type="checkbox" checked={isApart} onChange={event => setApart(event.currentTarget.checked)} />{' '}
        In its own work tree{' '}
      </label>
    </Confirm>
  );
}
