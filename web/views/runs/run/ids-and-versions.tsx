import { useQuery } from '../../../state/query.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Ago } from '../../../ui/time.tsx';
import { Fact, Part } from './details-parts.tsx';
import { RunLink } from './run-link.tsx';
import type { ShownRun } from './shown-run.ts';

/** What it is called elsewhere, and who asked for it. */
export function Ids({ data: { run, squad } }: { data: ShownRun }) {
  const { data: hub } = useQuery('hub_status', {});
  return (
    <Part title="Ids and versions">
      <dl>
        <Fact name="Run">
          <Copy text={run.id} label="run id" isShown />
        </Fact>
        <Fact name="Squad">
          <Copy text={run.squadId} label="squad id" isShown /> <a href={`/s/${run.squadId}`}>open</a>
        </Fact>
        {run.lineageId !== run.id && (
          <Fact name="First run of the task">
            <RunLink id={run.lineageId} />
          </Fact>
        )}
        {run.parentId && (
          <Fact name="Started by">
            <RunLink id={run.parentId} />
          </Fact>
        )}
        <Fact name="Asked for by">{run.client ?? squad?.client ?? 'unknown'}</Fact>
        <Fact name="Asked for">
          <Ago at={run.createdAt} />
        </Fact>
        {hub && <Fact name="Hub">version {hub.version}</Fact>}
      </dl>
    </Part>
  );
}
