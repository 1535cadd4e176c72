import type { Output } from '../../../src/operations/operations.ts';
import { useQuery } from '../../state/query.ts';
import { Copy } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Plain } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { sentences } from '../sentences.ts';

interface EnginesProps {
  workspace: string;
  chosen: Output<'inspect_workspace'>['engine'];
}

/** Which agent CLIs there are, and which one runs use here unless told otherwise. */
export function Engines({ workspace, chosen }: EnginesProps) {
  const { data, error, reload } = useQuery('inspect_engines', { look: true }, { workspace });
  return (
    <section class="page-part">
      <h2>Engines</h2>
      {chosen.problem === null ? (
        <p>
          Runs here use <b>{chosen.id}</b>.{' '}
          <span class="soft">
            <Plain text={chosen.notes.join(' ')} isBlock={false} />
          </span>
        </p>
      ) : (
        <p class="tone-bad">
          <Plain text={sentences([chosen.problem, ...chosen.suggestions])} isBlock={false} />
        </p>
      )}
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && (
        <p role="status" class="soft">
          Checking versions…
        </p>
      )}
      {data && (
        <table class="sheet">
          <thead>
            <tr>
              <th scope="col">engine</th>
              <th scope="col">state</th>
              <th scope="col">details</th>
            </tr>
          </thead>
          <tbody>
            {data.engines.map(engine => (
              <Engine key={engine.id} engine={engine} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Engine({ engine }: { engine: Output<'inspect_engines'>['engines'][number] }) {
  const { id, name, program, version, warning, install, login, advisory } = engine;
  return (
    <tr>
      <td>
        <b>{name}</b> <span class="soft">{id}</span>
      </td>
      <td>
        <span class={`status ${program === null ? 'tone-off' : warning ? 'tone-ask' : 'tone-good'}`}>
          <Icon name={program === null ? 'cross' : warning ? 'warn' : 'check'} />
          {program === null ? 'not found' : (version ?? 'version unknown')}
        </span>
      </td>
      <td class="wide soft">
        {program === null ? (
          <>
            Install: <Copy text={install} label="command" isShown />
          </>
        ) : (
          <>
            <code>{program}</code>
            {warning && (
              <p class="tone-ask">
                <Plain text={warning} isBlock={false} />
              </p>
            )}
            {advisory.length > 0 && <p>Instructed, not enforced: {advisory.join(', ')}</p>}
            <p>Log in: {login}</p>
          </>
        )}
      </td>
    </tr>
  );
}
