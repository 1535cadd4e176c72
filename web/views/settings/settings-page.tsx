import '../views.css';
import './settings.css';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import type { Changes } from '../../state/live.ts';
import { notificationState, turnOff, turnOn } from '../../state/notifications.ts';
import { useQuery } from '../../state/query.ts';
import { setTheme, THEMES, type Theme, theme } from '../../state/theme.ts';
import { Button } from '../../ui/button.tsx';
import { Command, Copy } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageHead, Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import { Ago } from '../../ui/time.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { Engines } from './engines.tsx';
import { Limits } from './limits.tsx';
import { Roles } from './roles.tsx';
import { formatValue } from './setting-text.ts';

const MEBIBYTE = 1024 ** 2;

/** Status of the hub process. */
export function HubFacts() {
  const { data, error, reload } = useQuery('hub_status', {}, { refreshOn: onHubChange });
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  const facts: [string, string | null][] = [
    ['version', data.version],
    ['process', String(data.pid)],
    ['runs', `${data.runsActive} running, ${data.runsQueued} queued`],
    ['clients', String(data.clients)],
    ['memory', `${Math.round(data.memoryBytes / MEBIBYTE)} MiB`],
    ['address', data.url],
    ['home', data.home],
    ['database', data.database],
    ['restored', data.restored],
    ['successor', data.successor],
  ];
  return (
    <Section
      title={
        <>
          {' '}
          Hub <Command text="squad hub status" />
        </>
      }
    >
      <dl class="hub-facts">
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name}>
              <dt class="soft">{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        <div>
          <dt class="soft">started</dt>
          <dd>
            <Ago at={data.startedAt} />
          </dd>
        </div>
      </dl>
    </Section>
  );
}

const onHubChange = ({ events }: Changes) =>
  events.some(({ body }) => /^(run\.(queued|started|ended)|hub\.)/.test(body.type));

const NOTIFICATION_TEXTS = {
  none: 'This browser does not support notifications.',
  blocked: 'Your browser blocks notifications for this address. Allow them in its site settings.',
  off: 'Off. When on, an open tab in the background notifies you when an agent needs you or a run fails.',
  on: 'On in this browser. An open tab in the background notifies you when an agent needs you or a run fails.',
} as const;

export function Notifications() {
  const now = notificationState.value;
  const canChange = now === 'on' || now === 'off';
  const change = () => (now === 'on' ? turnOff() : void turnOn());
  useKeys([{ key: 'o', what: 'Notifications on or off', run: change, when: () => canChange }]);
  return (
    <section class="page-part notifications">
      <h2>Notifications</h2>
      <p>{NOTIFICATION_TEXTS[now]}</p>
      {canChange && (
        <Button onClick={change} keyName="o" isPressed={now === 'on'}>
          {now === 'on' ? 'Turn notifications off' : 'Turn notifications on'}
        </Button>
      )}
      <p class="soft">
        To be notified without an open tab, set <code>onAsk</code> and <code>onEnd</code> in your
        configuration to programs: Squad runs them when an agent asks or a run ends.
      </p>
    </section>
  );
}

type Inspected = Output<'inspect_workspace'>;

interface TrustProps {
  untrusted: Inspected['untrusted'];
  ignored: Inspected['ignored'];
  workspace: string;
}

/** Files that need the user's trust. Trust is given only in a terminal, which shows the file first. */
export function Trust({ untrusted, ignored, workspace }: TrustProps) {
  const at = `--workspace ${shellWord(workspace)}`;
  return (
    <Section title="Trust">
      <p class="soft">
        A file that came with a repository can name programs to run. Squad ignores such lines until you trust
        the file with exactly this content. After a change you have to trust it again. To trust a file, use{' '}
        <code>squad trust</code> in a terminal, which shows you the file first.
      </p>
      {untrusted.length === 0 ? (
        <p>
          <Icon name="check" class="tone-good" /> No files need your trust.
        </p>
      ) : (
        <ul class="trust-files">
          {untrusted.map(file => (
            <li key={file}>
              <StatusMark style={{ word: 'not trusted', icon: 'warn', tone: 'ask' }} /> <code>{file}</code>{' '}
              <Copy
                text={`squad trust ${shellWord(file)} ${at}`}
                label="command that shows and trusts it"
                isShown
              />
            </li>
          ))}
        </ul>
      )}
      {ignored.length > 0 && (
        <ul class="soft">
          {ignored.map(({ file, key, reason }) => (
            <li key={`${file} ${key}`}>
              <code>{key}</code> of <code>{file}</code> is ignored: <PlainLine text={reason} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Settings in effect in a folder, with the source of each value. */
export function WorkspaceValues({ settings }: { settings: Output<'inspect_workspace'>['settings'] }) {
  return (
    <Section title="This folder">
      <Sheet columns={['key', 'value', 'from']}>
        {settings.map(({ key, value, origin, source }) => (
          <tr key={key}>
            <td>
              <code>{key}</code>
            </td>
            <td class="wide">
              <PlainLine text={formatValue(value)} />
            </td>
            <td class="soft">
              {origin}
              {origin !== 'default' && (
                <>
                  {' · '}
                  <code>{source}</code>
                </>
              )}
            </td>
          </tr>
        ))}
      </Sheet>
    </Section>
  );
}

function Appearance() {
  return (
    <Section title="Appearance">
      <label class="theme">
        Theme{' '}
        <select value={theme.value} onChange={event => setTheme(event.currentTarget.value as Theme)}>
          {THEMES.map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </Section>
  );
}

/** `/settings`: settings in effect and their sources; limits and budgets can be changed here. */
export function SettingsPage() {
  return (
    <div class="settings">
      <PageHead title="Settings">
        Theme and notifications are set per browser. Everything else applies to every client and the terminal.
      </PageHead>
      <Appearance />
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
        In a terminal: <Command text={`squad config show --workspace ${shellWord(path)}`} />{' '}
        <Command text={`squad doctor --workspace ${shellWord(path)}`} />
      </p>
    </>
  );
}

const refreshOn = ({ events }: Changes) => events.some(({ body }) => body.type === 'setting.changed');
