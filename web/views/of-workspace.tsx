import type { ComponentChildren } from 'preact';
import { useQuery } from '../state/query.ts';
import { workspace } from '../state/workspace.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';

interface OfWorkspaceProps {
  /** Name of the data that is shown for the workspace, for example `The backlog`. */
  what: string;
  children(path: string): ComponentChildren;
}

/** Shows data of one folder: the chosen or the only folder. Otherwise asks the user to choose. */
export function OfWorkspace({ what, children }: OfWorkspaceProps) {
  const chosen = workspace.value;
  const { data, error, reload } = useQuery('list_workspaces', chosen === null ? {} : null);
  if (chosen !== null) return <>{children(chosen)}</>;
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  const [only, ...more] = data.workspaces;
  if (!only)
    return (
      <Empty title="No project folder yet" command={'squad run coder "Say hello"'}>
        {what} belongs to one folder. Squad lists a folder after the first run in it.
      </Empty>
    );
  if (more.length === 0) return <>{children(only.path)}</>;
  return (
    <section class="workspaces" aria-label="Folders">
      <p class="soft">{what} belongs to one folder. Choose one:</p>
      <ul>
        {data.workspaces.map(({ path, name, live, lastRunAt }) => (
          <li key={path}>
            <Button onClick={() => (workspace.value = path)}>{name}</Button> <code>{path}</code>{' '}
            <span class="soft">
              {live > 0 && `${live} running · `}last run <Ago at={lastRunAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
