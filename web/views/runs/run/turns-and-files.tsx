import { shellWord } from '../../../../src/schema/shell-word.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Ago, Duration } from '../../../ui/time.tsx';
import { Fact, Part } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** One process each. */
export function Turns({ data: { run, turns } }: { data: ShownRun }) {
  if (turns.length === 0) return null;
  return (
    <Part title="Turns">
      <table class="sheet">
        <thead>
          <tr>
            <th>Turn</th>
            <th>Started</th>
            <th>Duration</th>
            <th>Exit</th>
            <th>Process</th>
            <th>Leftover processes</th>
          </tr>
        </thead>
        <tbody>
          {turns.map(turn => (
            <tr key={turn.number}>
              <td data-name="Turn">
                <a href={`/r/${run.id}/output?turn=${turn.number}`}>{turn.number}</a>
              </td>
              <td data-name="Started">
                <Ago at={turn.startedAt} />
              </td>
              <td data-name="Duration">
                <Duration from={turn.startedAt} to={turn.endedAt} />
              </td>
              <td data-name="Exit">
                {turn.exitCode ?? (turn.endedAt === null ? 'running' : 'unknown')}
                {turn.stop && `, stopped: ${turn.stop.replaceAll('_', ' ')}`}
              </td>
              <td data-name="Process">{turn.pid ?? '–'}</td>
              <td data-name="Leftover processes">
                {turn.leftovers.length === 0
                  ? 'none'
                  : turn.leftovers.map(({ pid, command }) => (
                      <div key={pid}>
                        {pid} <Plain text={command} isBlock={false} />
                      </div>
                    ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

/** What they wrote. */
export function Files({ data: { run, files } }: { data: ShownRun }) {
  return (
    <Part title="Files">
      <dl>
        {(['stdout', 'stderr'] as const).map(stream => (
          <Fact key={stream} name={stream}>
            <Copy text={files[stream]} label="path" isShown />{' '}
            <span class="soft num">{files[`${stream}Bytes`].toLocaleString()} bytes</span>
          </Fact>
        ))}
        <Fact name="Command">
          <Copy text={`squad log ${shellWord(run.id)}`} label="command" isShown />
        </Fact>
      </dl>
    </Part>
  );
}
