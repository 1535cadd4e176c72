import '../views.css';
import './gateway.css';
import { useEffect } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useQuery } from '../../state/query.ts';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead, Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';
import { Ago } from '../../ui/time.tsx';
import { Notes } from '../notes.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { PendingTools } from './pending-tools.tsx';
import { RoleTools } from './role-tools.tsx';

type Health = Output<'inspect_gateway'>['servers'][number]['health'];

const HEALTH_STYLES: Record<Health, StatusStyle & { means: string }> = {
  idle: {
    word: 'idle',
    icon: 'clock',
    tone: 'calm',
    means: 'Not in use. The server starts with the first run that needs it.',
  },
  starting: { word: 'starting', icon: 'half', tone: 'busy', means: 'Waiting for the handshake.' },
  up: { word: 'up', icon: 'check', tone: 'good', means: 'It responds.' },
  checking: {
    word: 'checking',
    icon: 'half',
    tone: 'ask',
    means: 'The server was slow to respond. Squad is checking whether it still works.',
  },
  retrying: {
    word: 'retrying',
    icon: 'half',
    tone: 'ask',
    means: 'The server failed while no call was running. Squad restarts it soon.',
  },
  cooling: {
    word: 'cooling',
    icon: 'warn',
    tone: 'bad',
    means: 'The server failed a call, or failed several times. Squad tries it again after a pause.',
  },
  unusable: {
    word: 'unusable',
    icon: 'cross',
    tone: 'bad',
    means: 'The server cannot work with its current configuration.',
  },
};

type Gateway = Output<'inspect_gateway'>;

const REFRESH_MS = 5_000;

/** `/gateway`: other MCP servers with their health, pending approvals, and the tools of each role. */
export function GatewayPage() {
  return (
    <div class="gateway">
      <PageHead title="Gateway">Other MCP servers that runs reach through the hub.</PageHead>
      <OfWorkspace what="A gateway">{path => <Shown path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Shown({ path }: { path: string }) {
  const { data, error, reload } = useQuery('inspect_gateway', {}, { workspace: path });
  // Server health is not part of the events, so it is polled.
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, REFRESH_MS);
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
      {data.servers.length > 0 && <RoleTools workspace={path} onListed={reload} />}
    </>
  );
}

function State({ gateway: { state, file, servers }, path }: { gateway: Gateway; path: string }) {
  if (state === 'untrusted')
    return (
      <Empty
        title="The list of MCP servers is not trusted"
        command={`squad trust --workspace ${shellWord(path)}`}
      >
        <code>{file}</code> names programs that Squad would run. It has no effect until you trust it in a
        terminal, which shows you the file first.
      </Empty>
    );
  if (state === 'invalid')
    return (
      <Empty
        title="The list of MCP servers is invalid"
        command={`squad mcp lint --workspace ${shellWord(path)}`}
      >
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
    <Section
      title={
        <>
          {' '}
          Servers <Command text="squad mcp status" />
        </>
      }
    >
      <Sheet columns={['server', 'health', 'since', 'error', '#calls', '#failures', '#tools', '#runs']}>
        {sorted.map(server => (
          <Server key={server.server} server={server} />
        ))}
      </Sheet>
    </Section>
  );
}

function Server({ server }: { server: Gateway['servers'][number] }) {
  const { health, since, retryAt, fault, lastFault, calls, failures, tools, runs, callsInFlight } = server;
  const style = HEALTH_STYLES[health];
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
            <PlainLine text={`${name} is not passed on to agents: ${reason}`} />
          </p>
        ))}
      </td>
      <td title={style.means}>
        <StatusMark style={style} />
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
            <PlainLine text={fault} />
          </span>
        )}
        {fault === null && lastFault !== null && (
          <span class="soft">
            <Ago at={lastFault.at} />: <PlainLine text={lastFault.message} />
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
