import '../views.css';
import './settings.css';
import { shellWord } from '../../../src/schema/shell-word.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Copy } from '../../ui/copy.tsx';
import { Problem } from '../../ui/problem.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { Engines } from './engines.tsx';
import { HubFacts } from './hub-facts.tsx';
import { Limits } from './limits.tsx';
import { Notifications } from './notifications.tsx';
import { Roles } from './roles.tsx';
import { Trust } from './trust.tsx';
import { WorkspaceValues } from './workspace-values.tsx';

/** `/settings`: what is in force and where it came from; limits and budgets can be changed here. */
export function SettingsPage() {
  return (
    <div class="settings">
      <header class="page-head">
        <h1>Settings</h1>
        <p class="soft">
          Light or dark follows your system, notifications are this browser's. Everything else here is the
          same for every client and the terminal.
        </p>
      </header>
      <Notifications />
      <HubFacts />
      <OfWorkspace what="A configuration">{path => <OfFolder path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function OfFolder({ path }: { path: string }) {
  const { data, error, reload } = useQuery('inspect_workspace', {}, { workspace: path, refreshOn });
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  return (
    <>
      <Limits limits={data.limits} onChanged={reload} />
      <Trust untrusted={data.untrusted} ignored={data.ignored} workspace={path} />
      <WorkspaceValues settings={data.settings} />
      <Roles roles={data.roles} folder={data.rolesFolder} />
      <Engines workspace={path} chosen={data.engine} />
      <p class="soft">
        All of it in a terminal:{' '}
        <Copy text={`squad config show --workspace ${shellWord(path)}`} label="command" isShown />{' '}
        <Copy text={`squad doctor --workspace ${shellWord(path)}`} label="command" isShown />
      </p>
    </>
  );
}

const refreshOn = ({ events }: Changes) => events.some(({ body }) => body.type === 'setting.changed');
