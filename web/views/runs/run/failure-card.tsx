import { visibleText } from '../../../../src/base/text.ts';
import { useQuery } from '../../../state/query.ts';
import { AnsiText } from '../../../ui/ansi-text.tsx';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { WithCode } from '../../../ui/with-code.tsx';
import { askForAction } from './action-keys.ts';
import type { ShownRun } from './shown-run.ts';

const TAIL_BYTES = 4 * 1024;
const TAIL_LINES = 20;

/** Error of the run, its end, the last lines of stderr, and the next step. */
export function FailureCard({ data }: { data: ShownRun }) {
  const { run, turns, result } = data;
  const last = turns.at(-1);
  const { data: stderr } = useQuery('read_output', {
    run: run.id,
    turn: run.turn,
    stream: 'stderr',
    offset: -TAIL_BYTES,
    lines: true,
  });
  const { data: answer } = useQuery('run_actions', { run: run.id });
  const next = answer?.actions.filter(({ action, isPossible }) => isPossible && NEXT.includes(action)) ?? [];
  const tail =
    stderr?.text
      .split('\n')
      .slice(-TAIL_LINES - 1)
      .join('\n')
      .trimEnd() ?? '';
  return (
    <section class="failure" aria-labelledby="failure-title">
      <h2 id="failure-title" class="tone-bad">
        <Icon name="cross" /> {run.status === 'timeout' ? 'Timed out' : `Ended with status ${run.status}`}
      </h2>
      <p>
        <PlainLine text={run.error?.message ?? ''} /> <code class="faint">{run.error?.code}</code>
      </p>
      <p class="soft">{howItEnded(last)}</p>
      {result.note && (
        <p class="plain">
          <WithCode text={visibleText(result.note)} />
        </p>
      )}
      {tail ? (
        <figure class="tail">
          <figcaption class="soft">
            Last lines of stderr · <a href={`/r/${run.id}/output?stream=stderr`}>show all</a>
          </figcaption>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
          <pre tabIndex={0}>
            <AnsiText text={tail} />
          </pre>
        </figure>
      ) : (
        stderr && <p class="soft">Nothing was written to stderr.</p>
      )}
      <ul class="failure-next">
        {next.map(action => (
          <li key={action.action}>
            <Button onClick={() => askForAction(run.id, action)}>{action.label}</Button>{' '}
            <span class="soft">{action.effect}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const NEXT: readonly string[] = ['retry', 'reply', 'integrate', 'attach'];

function howItEnded(turn: ShownRun['turns'][number] | undefined): string {
  if (!turn) return 'No process was started.';
  const { number, exitCode, stop, leftovers } = turn;
  const parts = [
    `Turn ${number}`,
    stop === null ? null : `stopped by Squad: ${stop.replaceAll('_', ' ')}`,
    exitCode === null ? 'exit code unknown' : describeExit(exitCode),
    leftovers.length > 0 ? `${leftovers.length} leftover processes were ended` : null,
  ];
  return `${parts.filter(part => part !== null).join(', ')}.`;
}

/** Exit code, with the signal that a shell reports as a code above 128. */
function describeExit(code: number): string {
  const signal = code > 128 ? SIGNALS[code - 128] : undefined;
  return signal ? `exit ${code} (${signal})` : `exit ${code}`;
}

const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  6: 'SIGABRT',
  9: 'SIGKILL, perhaps out of memory',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
};
