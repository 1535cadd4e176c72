import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { ApiError, call } from '../state/api.ts';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { startCommand } from './start-command.ts';

/** One run: a role, a task, a folder. Everything else is as the project and the role say. */
export function StartRun({ onClose }: { onClose(): void }) {
  const { route } = useLocation();
  const known = useQuery('list_workspaces', {}).data?.workspaces ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const folder = chosen ?? workspace.value ?? known[0]?.path ?? '';
  const roles = useQuery('list_roles', folder === '' ? null : {}, { workspace: folder });
  const [role, setRole] = useState('');
  const roleId = role || (roles.data?.roles[0]?.id ?? '');
  const [task, setTask] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);

  const start = async () => {
    if (isSending || task.trim() === '' || roleId === '') return;
    setSending(true);
    try {
      const { runIds, warnings } = await call(
        'start_squad',
        { members: [{ roleId, task }] },
        { workspace: folder },
      );
      for (const warning of warnings) toast(warning);
      onClose();
      route(`/r/${runIds[0]}`);
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown : new ApiError('PAGE_ERROR', String(thrown)));
      setSending(false);
    }
  };
  return (
    <Dialog title="Start a run" onClose={onClose}>
      <form
        class="start"
        onSubmit={event => {
          event.preventDefault();
          void start();
        }}
      >
        <label>
          Task
          <textarea
            required
            rows={5}
            value={task}
            onInput={event => setTask(event.currentTarget.value)}
            onKeyDown={event => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void start();
            }}
          />
        </label>
        <label>
          Role
          <select value={roleId} onChange={event => setRole(event.currentTarget.value)}>
            {roles.data?.roles.map(({ id, name, description }) => (
              <option key={id} value={id} title={description}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Folder
          <input
            type="text"
            required
            list="start-folders"
            placeholder="/absolute/path/of/a/project"
            value={folder}
            onChange={event => setChosen(event.currentTarget.value)}
          />
          <datalist id="start-folders">
            {known.map(({ path }) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </label>
        {roles.error && <Problem error={roles.error} />}
        {error && <Problem error={error} />}
        <p class="twin">
          <span>In a terminal</span>
          <Copy text={startCommand(roleId, task, folder)} label="command" isShown />
        </p>
        <p class="actions">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button type="submit" class="button main" aria-disabled={isSending || undefined}>
            Start
          </button>
        </p>
      </form>
    </Dialog>
  );
}
