import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';

/** Workspaces with runs. Empty until they are loaded. */
export function useWorkspaces() {
  const { data } = useQuery(
    'list_workspaces',
    {},
    { refreshOn: ({ events }) => events.some(({ body }) => body.type === 'squad.created') },
  );
  return data?.workspaces ?? [];
}

export function WorkspacePicker() {
  const chosen = workspace.value;
  const known = useWorkspaces();
  const shown =
    chosen === null || known.some(({ path }) => path === chosen)
      ? known
      : [...known, { path: chosen, name: chosen, live: 0 }];
  return (
    <select
      aria-label="Workspace"
      value={chosen ?? ''}
      onChange={event => {
        workspace.value = event.currentTarget.value || null;
      }}
    >
      <option value="">all workspaces</option>
      {shown.map(({ path, name, live }) => (
        <option key={path} value={path} title={path}>
          {name}
          {live > 0 ? ` (${live} running)` : ''}
        </option>
      ))}
    </select>
  );
}
