import './start.css';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../src/base/text.ts';
import { type ApiError, asApiError, call } from '../state/api.ts';
import { useDraft } from '../state/draft.ts';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';
import { Command } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { folderError } from './folder-error.ts';
import { type StartChoices, startCommand } from './start-command.ts';
import { StartMore } from './start-more.tsx';

const LAST_ROLE = 'squad-last-role';
/** Delay before the hub is asked about a typed path. */
const TYPED_MS = 300;

/** Dialog that starts one run. Options that are not set here come from the project and the role. */
export function StartRun({ onClose }: { onClose(): void }) {
  const { route } = useLocation();
  const known = useQuery('list_workspaces', {}).data?.workspaces ?? [];
  const [typed, setTyped] = useState<string | null>(null);
  const folder = (typed ?? workspace.value ?? known[0]?.path ?? '').trim();
  const asked = useDebounced(folder);
  const isWhole = folderError(asked) === null;
  const roles = useQuery('list_roles', isWhole ? {} : null, { workspace: asked });
  const names = roles.data?.roles ?? [];
  const [role, setRole] = useState(() => localStorage.getItem(LAST_ROLE) ?? '');
  const roleId = (names.find(({ id }) => id === role) ?? names[0])?.id ?? '';
  const [task, setTask, forgetTask] = useDraft('start');
  const [choices, setChoices] = useState<StartChoices>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);
  const isOfFolder = roles.error?.code === 'WORKSPACE_REFUSED';
  const wrong =
    typed === null && folder === ''
      ? null
      : (folderError(folder) ?? (isOfFolder && asked === folder ? roles.error!.message : null));

  const start = async () => {
    if (isSending || task.trim() === '' || roleId === '' || folderError(folder) !== null) return;
    setSending(true);
    try {
      const { runIds, warnings } = await call(
        'start_squad',
        { members: [{ roleId, task }], ...choices },
        { workspace: folder },
      );
      forgetTask();
      localStorage.setItem(LAST_ROLE, roleId);
      for (const warning of warnings) toast(warning);
      onClose();
      route(`/r/${runIds[0]}`);
    } catch (thrown) {
      setError(asApiError(thrown));
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
            {names.map(({ id, name, description }) => (
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
            aria-invalid={wrong !== null || undefined}
            aria-describedby={wrong === null ? undefined : 'start-folder-error'}
            value={typed ?? folder}
            onInput={event => {
              setTyped(event.currentTarget.value);
              setError(null);
            }}
          />
          <datalist id="start-folders">
            {known.map(({ path }) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </label>
        {wrong !== null && (
          <p id="start-folder-error" class="field-error" role="alert">
            {visibleText(wrong)}
          </p>
        )}
        <StartMore choices={choices} workspace={isWhole ? asked : null} onChange={setChoices} />
        {roles.error && !isOfFolder && <Problem error={roles.error} />}
        {error && <Problem error={error} />}
        <p class="twin">
          <span>In a terminal</span>
          <Command text={startCommand(roleId, task, folder, choices)} />
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

/** The value, once it has not changed for a moment. */
function useDebounced(value: string): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), settled === '' ? 0 : TYPED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
