import { shellWord } from '../../../../src/schema/shell-word.ts';
import { Command, Copy } from '../../../ui/copy.tsx';
import { Section, Sheet } from '../../../ui/layout.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Ago, Duration } from '../../../ui/time.tsx';
import { Fact } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** Table of turns; each turn is one process. */
export function Turns({ data: { run, turns } }: { data: ShownRun }) {
  if (turns.length === 0) return null;
  return (
    <Section title="Turns">
      <Sheet columns={['Turn', 'Started', 'Duration', 'Exit', 'Process', 'Leftover processes']}>
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
                      {pid} <PlainLine text={command} />
                    </div>
                  ))}
            </td>
          </tr>
        ))}
      </Sheet>
    </Section>
  );
}

/** Output files of the turns. */
export function Files({ data: { run, files } }: { data: ShownRun }) {
  return (
    <Section title="Files">
      <dl>
        {(['stdout', 'stderr'] as const).map(stream => (
          <Fact key={stream} name={stream}>
            <Copy text={files[stream]} label="path" isShown />{' '}
            <span class="soft num">{files[`${stream}Bytes`].toLocaleString()} bytes</span>
          </Fact>
        ))}
        <Fact name="Command">
          <Command text={`squad log ${shellWord(run.id)}`} />
        </Fact>
      </dl>
    </Section>
  );
}
