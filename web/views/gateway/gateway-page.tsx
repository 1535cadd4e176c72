import '../views.css';
import './gateway.css';
import { useEffect } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useQuery } from '../../state/query.ts';
import { Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { Plain } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { Notes } from '../notes.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { PendingTools } from './pending-tools.tsx';
import { RoleTools } from './role-tools.tsx';

type Health = Output<'inspect_gateway'>['servers'][number]['health'];

interface HealthLook {
  word: string;
  icon: IconName;
  tone: 'ask' | 'bad' | 'busy' | 'calm' | 'good';
  /** What the word means. */
  means: string;
}

const LOOKS: Record<Health, HealthLook> = {
  idle: {
    word: 'idle',
    icon: 'clock',
    tone: 'calm',
    means: 'Not in use. It starts with the first run that needs it.',
  },
  starting: { word: 'starting', icon: 'half', tone: 'busy', means: 'Waiting for the handshake.' },
  up: { word: 'up', icon: 'check', tone: 'good', means: 'It responds.' },
  checking: {
    word: 'checking',
    icon: 'half',
    tone: 'ask',
    means: 'It was slow to respond. Squad is checking whether it is alive.',
  },
  retrying: {
    word: 'retrying',
    icon: 'half',
    tone: 'ask',
    means: 'It failed outside of a call. Squad restarts it soon.',
  },
  cooling: {
    word: 'cooling',
    icon: 'warn',
    tone: 'bad',
    means: 'It failed a call, or kept failing. Squad retries it after the cool-down.',
  },
  unusable: {
    word: 'unusable',
    icon: 'cross',
    tone: 'bad',
    means: 'It cannot work with its current configuration.',
  },
};

export const healthStyle = (health: Health): HealthLook => LOOKS[health];

type Gateway = Output<'inspect_gateway'>;

const LOOK_AGAIN_MS = 5_000;

/** `/gateway`: the other MCP servers, how they are, what waits for approval, who sees what. */
export function GatewayPage() {
  return (
    <div class="gateway">
      <header class="page-head">
        <h1>Gateway</h1>
        <p class="soft">Other MCP servers that runs reach through the hub.</p>
      </header>
      <OfWorkspace what="A gateway">{path => <Shown path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Shown({ path }: { path: string }) {
  const { data, error, reload } = useQuery('inspect_gateway', {}, { workspace: path });
  // Servers say nothing in events: how they are has to be asked.
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [reload]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  return (
    <>
      <Notes notes={data.warnings} />
      <State gateway={data} path={path} />
      {data.servers.length > 0 && <Servers servers={data.servers} />}
      <PendingTools pending={data.pending} workspace={path} onDone={reload} />
      {data.servers.length > 0 && <RoleTools workspace={path} onLooked={reload} />}
    </>
  );
}

function State({ gateway: { state, file, servers }, path }: { gateway: Gateway; path: string }) {
  if (state === 'untrusted')
    return (
      <Empty title="The server file is not trusted" command={`squad trust --workspace ${shellWord(path)}`}>
        <code>{file}</code> names programs that Squad would run. It has no effect until you trust it in a
        terminal, which shows you the file first.
      </Empty>
    );
  if (state === 'invalid')
    return (
      <Empty title="The server file is invalid" command={`squad mcp lint --workspace ${shellWord(path)}`}>
        <code>{file}</code> has an error; <code>squad mcp lint</code> shows where.
      </Empty>
    );
  if (servers.length === 0)
    return (
      <Empty title="No servers yet" command="squad mcp add NAME -- COMMAND">
        Servers are configured in <code>{file}</code>. <code>squad mcp import</code> copies those of other MCP
        clients.
      </Empty>
    );
  return null;
}

function Servers({ servers }: { servers: Gateway['servers'] }) {
  const sorted = servers.toSorted((one, other) => (one.server < other.server ? -1 : 1));
  return (
    <section class="page-part">
      <h2>
        Servers <Copy text="squad mcp status" label="command" isShown />
      </h2>
      <table class="sheet">
        <thead>
          <tr>
            <th scope="col">server</th>
            <th scope="col">health</th>
            <th scope="col">since</th>
            <th scope="col">error</th>
            <th scope="col" class="num">
              calls
            </th>
            <th scope="col" class="num">
              failures
            </th>
            <th scope="col" class="num">
              tools
            </th>
            <th scope="col" class="num">
              runs
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map(server => (
            <Server key={server.server} server={server} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Server({ server }: { server: Gateway['servers'][number] }) {
  const { health, since, retryAt, fault, lastFault, calls, failures, tools, runs, callsInFlight } = server;
  const { word, icon, tone, means } = healthStyle(health);
  return (
    <tr>
      <td class="wide">
        <b>{server.server}</b>{' '}
        <span class="soft">
          {server.type}
          {server.instance === 'per-agent' && ', one for each agent'}
          {server.pid !== null && `, process ${server.pid}`}
        </span>
        {server.refused.map(({ name, reason }) => (
          <p key={name} class="soft">
            <Plain text={`${name} is not passed on to agents: ${reason}`} isBlock={false} />
          </p>
        ))}
      </td>
      <td title={means}>
        <span class={`status tone-${tone}`}>
          <Icon name={icon} />
          {word}
        </span>
        {retryAt !== null && (
          <p class="soft">
            retry <Ago at={retryAt} />
          </p>
        )}
      </td>
      <td data-name="since">
        <Ago at={since} />
      </td>
      <td class="wide" data-name="error">
        {fault !== null && (
          <span class="tone-bad">
            <Plain text={fault} isBlock={false} />
          </span>
        )}
        {fault === null && lastFault !== null && (
          <span class="soft">
            <Ago at={lastFault.at} />: <Plain text={lastFault.message} isBlock={false} />
          </span>
        )}
        {fault === null && lastFault === null && <span class="faint">none</span>}
      </td>
      <td class="num" data-name="calls">
        {calls}
        {callsInFlight > 0 && ` (${callsInFlight} now)`}
      </td>
      <td class="num" data-name="failures">
        {failures}
      </td>
      <td class="num" data-name="tools">
        {tools ?? <span class="faint">unknown</span>}
      </td>
      <td class="num" data-name="runs">
        {runs}
      </td>
    </tr>
  );
}
