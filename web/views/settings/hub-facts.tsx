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
  const number = (key: string) => (typeof data[key] === 'number' ? data[key] : null);
  const text = (key: string) => (typeof data[key] === 'string' ? data[key] : null);
  const startedAt = number('startedAt');
  const memory = number('memoryBytes');
  const facts: [string, string | null][] = [
    ['version', data.version],
    ['process', String(data.pid)],
    ['runs', `${number('runsActive') ?? 'unknown'} at work, ${number('runsQueued') ?? 'unknown'} queued`],
    ['clients', number('clients') === null ? null : String(number('clients'))],
    ['memory', memory === null ? null : `${Math.round(memory / MEBIBYTE)} MiB`],
    ['address', text('url')],
    ['home', text('home')],
    ['database', text('database')],
    ['restored', text('restored')],
    ['makes way for', text('successor')],
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
        {startedAt !== null && (
          <div>
            <dt class="soft">started</dt>
            <dd>
              <Ago at={startedAt} />
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

const refreshOn = ({ events }: Changes) =>
  events.some(({ body }) => /^(run\.(queued|started|ended)|hub\.)/.test(body.type));
