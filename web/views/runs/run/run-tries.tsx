import { StatusWord } from '../../../ui/status.tsx';
import { RunLink } from './run-link.tsx';
import type { ShownRun } from './shown-run.ts';

/** Which run had its task before. */
export function TriesBefore({ data: { run, tries } }: { data: ShownRun }) {
  const before = tries.of?.runId ?? run.lineageId;
  if (run.reviewOf !== null || before === run.id) return null;
  return (
    <>
      {' '}
      · {tries.of ? WORDS_BEFORE[tries.of.by] : 'goes on with'} <RunLink id={before} />
    </>
  );
}

/** Which runs have had it since: what became of a failure is there. */
export function TriesSince({ data: { tries } }: { data: ShownRun }) {
  if (tries.since.length === 0) return null;
  return (
    <ul class="run-tries" aria-label="Runs that took it up again">
      {tries.since.map(({ runId, by, status }) => (
        <li key={runId}>
          {WORDS_SINCE[by]} <RunLink id={runId} /> {status && <StatusWord status={status} />}
        </li>
      ))}
    </ul>
  );
}

const WORDS_BEFORE = { retry: 'a retry of', reply: 'a reply to' } as const;
const WORDS_SINCE = { retry: 'Retried as', reply: 'Gone on with as' } as const;
