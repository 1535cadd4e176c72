import '../views.css';
import './search.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { useQuery } from '../../state/query.ts';
import { useParam } from '../../state/url-state.ts';
import { workspace } from '../../state/workspace.ts';
import { Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { Notes } from '../notes.tsx';
import { FoundDecisions, FoundOutputs, FoundRuns } from './search-results.tsx';

type Found = Output<'search_everything'>;

/** Longer than elsewhere: each search reads files. */
const TYPING_MS = 400;
const AT_ONCE = 20;

/** `/search?q=`: runs, decisions and output with words that somebody remembers. */
export function SearchPage() {
  const [given, setQ] = useParam('q');
  const q = given?.trim() ?? '';
  const [typed, setTyped] = useState(q);
  const box = useRef<HTMLInputElement>(null);
  const folder = useFolder();
  const { data, isOf, error, isLoading, reload } = useQuery(
    'search_everything',
    q === '' || folder === undefined ? null : { q, workspace: workspace.value ?? undefined, limit: AT_ONCE },
    { workspace: folder ?? undefined },
  );
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    if (document.activeElement !== box.current) setTyped(q);
  }, [q]);
  useEffect(() => {
    if (typed.trim() === q) return;
    const timer = setTimeout(() => setQ(typed.trim(), { replace: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  useKeys([{ key: '/', what: 'Search words', run: () => box.current?.select() }]);
  const command = `squad search ${shellWord(q)}${workspace.value === null ? ' --all' : ''}`;
  return (
    <div class="search-view">
      <h1>Search</h1>
      <search class="page-tools">
        <input
          ref={box}
          type="search"
          aria-label="Words of a task, a decision or output"
          placeholder="words of a task, a decision or output"
          value={typed}
          onInput={event => setTyped(event.currentTarget.value)}
          onKeyDown={event => event.key === 'Enter' && setQ(typed.trim(), { replace: true })}
        />
        {q !== '' && <Copy text={command} label="command" isShown />}
      </search>
      {error && <Problem error={error} onRetry={reload} />}
      {q === '' ? (
        <Empty title="What do you remember?" command='squad search --all "rate limit"'>
          Titles and tasks of all runs, the team's decisions, and what the newest runs wrote.
        </Empty>
      ) : (
        data && <Shown found={data} q={q} isOld={!isOf || isLoading} hasFolder={folder !== null} />
      )}
    </div>
  );
}

interface ShownProps {
  found: Found;
  q: string;
  isOld: boolean;
  hasFolder: boolean;
}

function Shown({ found, q, isOld, hasFolder }: ShownProps) {
  const { runs, runsTotal, decisions, outputs, searched } = found;
  const isNothing = runs.length + outputs.length + (decisions?.found.length ?? 0) === 0;
  return (
    <div class={isOld ? 'is-old' : ''} aria-busy={isOld}>
      <p class="soft" role="status">
        {isOld ? 'Searching…' : isNothing ? 'Nothing has these words.' : summary(found)}
      </p>
      <FoundRuns runs={runs} total={runsTotal} q={q} />
      <Notes notes={decisions?.notes ?? []} />
      <FoundDecisions decisions={decisions} q={q} />
      <FoundOutputs outputs={outputs} q={q} />
      <p class="soft search-bounds">
        <Searched searched={searched} />
        {!hasFolder && ' Decisions are of one folder: choose one to search them.'}
      </p>
    </div>
  );
}

const summary = ({ runsTotal, decisions, outputs }: Found): string =>
  [
    `${runsTotal} ${runsTotal === 1 ? 'run' : 'runs'}`,
    ...(decisions ? [`${decisions.total} ${decisions.total === 1 ? 'decision' : 'decisions'}`] : []),
    `output of ${new Set(outputs.map(({ runId }) => runId)).size}`,
  ].join(' · ');

const REASONS = {
  time: ' The time for one search was up then: more words in the runs list narrow it down.',
  count: ' Older output is not searched.',
  enough: ' Then there were enough.',
} as const;

/** What was not looked at is not told as not found. */
function Searched({ searched: { runs, since, stoppedBy } }: Pick<Found, 'searched'>) {
  return (
    <>
      Output of the newest {runs === 1 ? 'run' : `${runs} runs`} was read
      {since !== null && (
        <>
          , back to <Ago at={since} />
        </>
      )}
      .{stoppedBy !== null && REASONS[stoppedBy]}
    </>
  );
}

/** Whose decisions are searched: the chosen folder's or the only one's. Undefined: not known yet; null: there are several. */
function useFolder(): string | null | undefined {
  const chosen = workspace.value;
  const { data } = useQuery('list_workspaces', chosen === null ? {} : null);
  if (chosen !== null) return chosen;
  if (!data) return undefined;
  return data.workspaces.length === 1 ? data.workspaces[0]!.path : null;
}
