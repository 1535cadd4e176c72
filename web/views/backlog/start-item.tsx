import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { shellWord } from '../shell-word.ts';
import { tell } from '../tell.ts';
import { type BacklogItem, roleOf, taskText } from './task-text.ts';

interface StartItemProps {
  item: BacklogItem;
  workspace: string;
  onClose(): void;
}

/** A run for one item: which role, in a work tree of its own or not. */
export function StartItem({ item, workspace, onClose }: StartItemProps) {
  const { route } = useLocation();
  const { data, error } = useQuery('list_roles', {}, { workspace });
  const [chosen, setChosen] = useState<string | null>(null);
  const [task, setTask] = useState(taskText(item));
  const [isApart, setApart] = useState(true);
  const roles = data?.roles ?? [];
  const role =
    chosen ?? roleOf(item.owner, roles) ?? roles.find(({ id }) => id === 'coder')?.id ?? roles[0]?.id;

  if (error) return <Problem error={error} />;
  if (!data || role === undefined) return null;
  const start = () =>
    tell(
      call(
        'start_squad',
        { members: [{ roleId: role, task }], ...(isApart && { isolation: 'worktree' as const }) },
        { workspace },
      ),
      ({ squadId, runIds, warnings }) => {
        route(runIds.length === 1 ? `/r/${runIds[0]}/activity` : `/s/${squadId}`);
        return ['Started.', ...warnings].join(' ');
      },
    );
  return (
    <Confirm
      title="Start a run for this item"
      effect={`Starts one agent as ${role} in ${workspace}, ${isApart ? 'in a work tree on a branch of its own' : 'in the folder itself'}. The backlog file is not changed.`}
      command={`squad run ${shellWord(role)} ${shellWord(task)}${isApart ? ' --worktree' : ''} --workspace ${shellWord(workspace)}`}
      yes="Start"
      tone="main"
      onYes={() => void start()}
      onClose={onClose}
    >
      <label class="start-field">
        Role
        <select value={role} onChange={event => setChosen(event.currentTarget.value)}>
          {roles.map(({ id, name }) => (
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
      <label>
        <input type="checkbox" checked={isApart} onChange={event => setApart(event.currentTarget.checked)} />{' '}
        in a work tree of its own
      </label>
    </Confirm>
  );
}
