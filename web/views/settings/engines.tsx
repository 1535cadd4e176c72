import type { Output } from '../../../src/operations/operations.ts';
import { useQuery } from '../../state/query.ts';
import { Command } from '../../ui/copy.tsx';
import { Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import { sentences } from '../sentences.ts';

interface EnginesProps {
  workspace: string;
  chosen: Output<'inspect_workspace'>['engine'];
}

/** Installed agent CLIs, and the one that runs in this workspace use by default. */
export function Engines({ workspace, chosen }: EnginesProps) {
  const { data, error, reload } = useQuery('inspect_engines', { look: true }, { workspace });
  return (
    <Section title="Engines">
      {chosen.problem === null ? (
        <p>
          Runs here use <b>{chosen.id}</b>.{' '}
          <span class="soft">
            <PlainLine text={chosen.notes.join(' ')} />
          </span>
        </p>
      ) : (
        <p class="tone-bad">
          <PlainLine text={sentences([chosen.problem, ...chosen.suggestions])} />
        </p>
      )}
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && (
        <p role="status" class="soft">
          Checking versions…
        </p>
      )}
      {data && (
        <Sheet columns={['engine', 'state', 'details']}>
          {data.engines.map(engine => (
            <Engine key={engine.id} engine={engine} />
          ))}
        </Sheet>
      )}
    </Section>
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
        <StatusMark
          style={
            program === null
              ? { word: 'not found', icon: 'cross', tone: 'off' }
              : {
                  word: version ?? 'version unknown',
                  ...(warning ? { icon: 'warn', tone: 'ask' } : { icon: 'check', tone: 'good' }),
                }
          }
        />
      </td>
      <td class="wide soft">
        {program === null ? (
          <>
            Install: <Command text={install} />
          </>
        ) : (
          <>
            <code>{program}</code>
            {warning && (
              <p class="tone-ask">
                <PlainLine text={warning} />
              </p>
            )}
            {advisory.length > 0 && <p>Not enforced by this CLI: {advisory.join(', ')}</p>}
            <p>Log in: {login}</p>
          </>
        )}
      </td>
    </tr>
  );
}
