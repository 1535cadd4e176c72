import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Output } from '../../src/operations/operations.ts';
import type { Need } from '../../src/schema/run-card.ts';
import { shownKey } from '../key-names.ts';
import { useKeys } from '../keys.ts';
import { connection } from '../state/live.ts';
import { useParam, withQuery } from '../state/url-state.ts';
import { waiting } from '../state/waiting.ts';
import { workspace } from '../state/workspace.ts';
import { Icon } from '../ui/icon.tsx';
import { NEED_LABELS, NEEDS } from '../ui/status-style.ts';
import { Money } from '../ui/usage.tsx';
import { openPalette } from './overlays.tsx';
import { useSummary } from './summary.ts';

export function TopBar() {
  const { path, query } = useLocation();
  const { data } = useSummary(path === '/' ? { q: query.q, squad: query.squad } : {});
  return (
    <header class={`top ${path === '/' ? '' : 'is-elsewhere'}`}>
      <a class="logo" href="/" aria-label="Squad, all runs">
        Squad
      </a>
      <FilterBox />
      <Chips counts={data?.counts} asking={data?.asking ?? 0} />
      <span class="top-end">
        <button type="button" class="button quiet" onClick={openPalette} aria-label="Commands">
          <Icon name="search" />
          <kbd>{shownKey('ctrl+k')}</kbd>
        </button>
        {data && (data.spentTodayUsd !== null || hasRuns(data)) && (
          <a class="today" href="/cost" title={todayTitle(data)}>
            {data.spentTodayUsd === null ? (
              <span class="faint">cost unknown</span>
            ) : (
              <Money usd={data.spentTodayUsd} isEstimated={data.isTodayEstimated} />
            )}
            <span class="soft">
              {data.budgetDayUsd === null ? ' today' : ` of $${data.budgetDayUsd}`}
              {workspace.value !== null && <span class="today-scope">, all workspaces</span>}
            </span>
            {data.unreportedToday > 0 && data.spentTodayUsd !== null && (
              <span class="tone-ask"> + {data.unreportedToday} unknown</span>
            )}
          </a>
        )}
        <ConnectionMark />
      </span>
    </header>
  );
}

/** False without any runs. Then the cost is not shown. */
const hasRuns = ({ counts }: Output<'list_board'>): boolean => Object.values(counts).some(count => count > 0);

function FilterBox() {
  const { path, route } = useLocation();
  const [given, setQ] = useParam('q');
  // Read only on the list of runs, because in other views `q` belongs to another search.
  const q = path === '/' ? given : null;
  const box = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(q ?? '');
  useEffect(() => {
    if (document.activeElement !== box.current) setTyped(q ?? '');
  }, [q]);
  useEffect(() => {
    if (path !== '/' || typed.trim() === (q ?? '')) return;
    const timer = setTimeout(() => setQ(typed.trim(), { replace: true }), 120);
    return () => clearTimeout(timer);
  }, [typed]);
  useKeys([{ key: '/', what: 'Filter runs', run: () => box.current?.select() }]);
  return (
    <search class="filter">
      <Icon name="search" class="faint" />
      <input
        ref={box}
        type="search"
        aria-label="Filter runs by task, role, engine or id"
        placeholder="filter"
        value={typed}
        onInput={event => setTyped(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            setTyped('');
            if (path === '/') setQ(null, { replace: true });
            box.current?.blur();
          }
          if (event.key === 'Enter' && path !== '/') route(withQuery('/', { q: typed.trim() }));
          if (event.key === 'Enter' || event.key === 'ArrowDown')
            document.querySelector<HTMLElement>('.board a')?.focus();
        }}
      />
      <kbd>/</kbd>
    </search>
  );
}

/** Counts of runs, each a link to the filtered list. */
function Chips({ counts, asking }: { counts: Partial<Record<Need, number>> | undefined; asking: number }) {
  const { path, query } = useLocation();
  const chosen = path === '/' ? (query.need ?? query.status ?? null) : undefined;
  const href = (need: string | null) =>
    withQuery('/', { ...(path === '/' && query), need, status: null, ...(need !== null && { view: null }) });
  const all = counts && NEEDS.reduce((sum, need) => sum + (counts[need] ?? 0), 0);
  return (
    <nav class="chips" aria-label="Runs, sorted by what needs you">
      <a href={href(null)} aria-current={chosen === null ? 'true' : undefined}>
        all <span class="num">{all ?? '…'}</span>
      </a>
      {NEEDS.map(need => (
        <a
          key={need}
          href={href(need)}
          class={counts?.[need] ? `need-${need}` : ''}
          aria-current={chosen === need ? 'true' : undefined}
        >
          {NEED_LABELS[need]} <span class="num">{counts?.[need] ?? '…'}</span>
        </a>
      ))}
      {counts && <Elsewhere here={asking} />}
    </nav>
  );
}

/** Runs that need the user in other workspaces; the inbox shows all of them. */
function Elsewhere({ here }: { here: number }) {
  const elsewhere = workspace.value === null ? 0 : waiting.value.size - here;
  if (elsewhere <= 0) return null;
  const words = elsewhere === 1 ? 'needs you in another workspace' : 'need you in other workspaces';
  return (
    <a href="/inbox" class="need-needs_you" title={words}>
      <span aria-hidden="true">elsewhere</span>
      <span class="unseen">{words}</span> <span class="num">{elsewhere}</span>
    </a>
  );
}

const CONNECTION_LABELS = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  offline: 'offline',
  locked: 'locked',
} as const;

function ConnectionMark() {
  const state = connection.value;
  return (
    <span class={`connection ${state}`}>
      {CONNECTION_LABELS[state]}
      <span class="dot" aria-hidden="true" />
    </span>
  );
}

function todayTitle({ unreportedToday }: { unreportedToday: number }): string {
  const missing = `Cost unknown for ${unreportedToday} of today's runs`;
  return unreportedToday > 0 ? missing : "Cost of today's runs, as far as reported";
}
