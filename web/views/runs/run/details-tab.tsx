import { Copy } from '../../../ui/copy.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Part } from './details-parts.tsx';
import { How, Rules } from './how-it-runs.tsx';
import { Ids } from './ids-and-versions.tsx';
import type { ShownRun } from './shown-run.ts';
import { Files, Turns } from './turns-and-files.tsx';
import { Seen } from './what-was-seen.tsx';
import { Where } from './where-it-works.tsx';

/** Everything known of it that is not in what it did, wrote or changed. */
export function DetailsTab({ data }: { data: ShownRun }) {
  return (
    <div class="details">
      <Task data={data} />
      <Where data={data} />
      <How data={data} />
      <Rules data={data} />
      <Seen data={data} />
      <Turns data={data} />
      <Files data={data} />
      <Ids data={data} />
    </div>
  );
}

function Task({ data: { run } }: { data: ShownRun }) {
  return (
    <Part title="Task">
      <p>
        <Copy text={run.task} label="task" />
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
      <div class="details-task" tabIndex={0}>
        <Plain text={run.task} />
      </div>
    </Part>
  );
}
