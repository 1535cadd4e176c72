import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Copy } from '../../ui/copy.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';

const MEBIBYTE = 1024 ** 2;

/** The process in the background that all of this comes from. */
export function HubFacts() {
  const { data, error, reload } = useQuery('hub_status', {}, { refreshOn });
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
    ['hands over to', data.successor],
  ];
  return (
    <section class="page-part">
      <h2>
        Hub <Copy text="squad hub status" label="command" isShown />
      </h2>
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
    </section>
  );
}

const refreshOn = ({ events }: Changes) =>
  events.some(({ body }) => /^(run\.(queued|started|ended)|hub\.)/.test(body.type));
