import '../views.css';
import './search.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { useQuery } from '../../state/query.ts';
import { useParam } from '../../state/url-state.ts';
import { workspace } from '../../state/workspace.ts';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { plural } from '../../ui/figures.ts';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { Notes } from '../notes.tsx';
import { FoundDecisions, FoundOutputs, FoundRuns } from './search-results.tsx';

type Found = Output<'search_everything'>;

/** Delay while typing. Longer than elsewhere, because each search reads files. */
const TYPING_MS = 400;
const AT_ONCE = 20;

/** `/search?q=`: searches runs, decisions and output. */
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
  useKeys([{ key: '/', what: 'Search', run: () => box.current?.select() }]);
  const command = `squad search ${shellWord(q)}${workspace.value === null ? ' --all' : ''}`;
  return (
    <div class="search-view">
      <h1>Search</h1>
      <search class="page-tools">
        <input
          ref={box}
          type="search"
          aria-label="Search tasks, decisions and output"
          placeholder="search tasks, decisions and output"
          value={typed}
          onInput={event => setTyped(event.currentTarget.value)}
          onKeyDown={event => event.key === 'Enter' && setQ(typed.trim(), { replace: true })}
        />
        {q !== '' && <Command text={command} />}
      </search>
      {error && <Problem error={error} onRetry={reload} />}
      {q === '' ? (
        <Empty title="Search everything" command='squad search --all "rate limit"'>
          Searches the titles and tasks of all runs, the team's decisions, and the output of the newest runs.
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
    <div aria-busy={isOld}>
      <p class="soft" role="status">
        {isOld ? 'Searching…' : isNothing ? 'No matches.' : summary(found)}
      </p>
      <FoundRuns runs={runs} total={runsTotal} q={q} />
      <Notes notes={decisions?.notes ?? []} />
      <FoundDecisions decisions={decisions} q={q} />
      <FoundOutputs outputs={outputs} q={q} />
      <p class="soft search-bounds">
        <Searched searched={searched} />
        {!hasFolder && ' Decisions belong to one folder: choose a workspace to search them.'}
      </p>
    </div>
  );
}

const summary = ({ runsTotal, decisions, outputs }: Found): string =>
  [
    plural(runsTotal, 'run'),
    ...(decisions ? [plural(decisions.total, 'decision')] : []),
    `output of ${plural(new Set(outputs.map(({ runId }) => runId)).size, 'run')}`,
  ].join(' · ');

const REASONS = {
  time: ' The search stopped at its time limit: add words to narrow it down.',
  count: ' Older output is not searched.',
  enough: ' The search stopped at its maximum number of matches.',
} as const;

/** Shows how much output was searched, because "not found" would be untrue for the rest. */
function Searched({ searched: { runs, since, stoppedBy } }: Pick<Found, 'searched'>) {
  return (
    <>
      Searched the output of the newest {runs === 1 ? 'run' : `${runs} runs`}
      {since !== null && (
        <>
          , back to <Ago at={since} />
        </>
      )}
      .{stoppedBy !== null && REASONS[stoppedBy]}
    </>
  );
}

/**
 * Folder whose decisions are searched: the chosen or the only one. Undefined while it is not loaded. Null if there are
 * several.
 */
function useFolder(): string | null | undefined {
  const chosen = workspace.value;
  const { data } = useQuery('list_workspaces', chosen === null ? {} : null);
  if (chosen !== null) return chosen;
  if (!data) return undefined;
  return data.workspaces.length === 1 ? data.workspaces[0]!.path : null;
}
