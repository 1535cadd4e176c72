import { useLocation } from 'preact-iso';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';
import { WorkspacePicker } from './workspace-picker.tsx';

/** Views of one folder or of all; the list of runs has the choice among its own. */
const SCOPED = ['/reviews', '/backlog', '/decisions', '/cost', '/search'];

/** Which folder the figures below are of, and the way to all of them. */
export function Scope() {
  const { path } = useLocation();
  const isScoped = SCOPED.includes(path);
  const { data } = useQuery('list_workspaces', isScoped ? {} : null);
  if (!isScoped || (workspace.value === null && (data?.workspaces.length ?? 0) < 2)) return null;
  return (
    <p class="scope">
      <WorkspacePicker />
    </p>
  );
}
