import './runs.css';
import { computed } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../../src/base/text.ts';
import { useKeys } from '../../../keys.ts';
import { showFailure } from '../../../shell/ask-first.tsx';
import { later } from '../../../shell/later.tsx';
import { openStart } from '../../../shell/overlays.tsx';
import { ViewWait } from '../../../shell/view-wait.tsx';
import { useWorkspaces, WorkspacePicker } from '../../../shell/workspace-picker.tsx';
import type { ApiError } from '../../../state/api.ts';
import { lastList, lastRun } from '../../../state/last-list.ts';
import { card } from '../../../state/live.ts';
import { useParam, withQuery } from '../../../state/url-state.ts';
import { workspace } from '../../../state/workspace.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { plural } from '../../../ui/figures.ts';
import { useHeldOrder } from '../../../ui/held-order.ts';
import { Problem } from '../../../ui/problem.tsx';
import { NEEDS } from '../../../ui/status-style.ts';
import { movesBetween, needsOf, unknownNeeds } from './board-order.ts';
import { fitsOnOneLine } from './fits-on-one-line.ts';
import { rowKeys } from './row-keys.ts';
import { RunRow } from './run-row.tsx';
import { type BoardFilter, useBoard } from './use-board.ts';

/** The keys that apply to the runs in the list. */
function FooterKeys({ ids }: { ids: readonly string[] }) {
  const asked = useMemo(
    () => ({
      toAnswer: computed(() => ids.some(id => card(id).value?.asking != null)),
      toAllow: computed(() => ids.some(isAllowedHere)),
    }),
    [ids],
  );
  return (
    <p class="footer-keys soft" aria-hidden="true">
      <kbd>j</kbd>/<kbd>k</kbd> move · <kbd>enter</kbd> open ·{' '}
      {asked.toAllow.value && (
        <>
          <kbd>y</kbd>/<kbd>n</kbd> allow, deny ·{' '}
        </>
      )}
      {asked.toAnswer.value && (
        <>
          <kbd>a</kbd> answer ·{' '}
        </>
      )}
      <kbd>c</kbd> cancel · <kbd>r</kbd> retry · <kbd>?</kbd> keys
    </p>
  );
}

/** True if the request fits into the row, so that the row has an allow button. */
function isAllowedHere(id: string): boolean {
  const asking = card(id).value?.asking;
  return asking != null && asking.kind !== 'question' && fitsOnOneLine(asking);
}

function NoRuns({ filter }: { filter: BoardFilter }) {
  const isFiltered = filter.needs.length > 0 || filter.q || filter.squad;
  if (isFiltered)
    return (
      <Empty title={filter.q ? `No runs match “${filter.q}”` : 'No runs match this filter'}>
        <a href="/">Show all runs</a>
      </Empty>
    );
  return <FirstRun />;
}

/** Maximum number of squads in the selector. A longer list is slow to draw and hard to use. */
const MAX_SQUADS = 100;

/** Filter for one of the squads whose runs are shown. */
function SquadPicker({ ids }: { ids: readonly string[] }) {
  const [squad, setSquad] = useParam('squad');
  const titles = new Map<string, { title: string; runs: number }>();
  for (const id of ids) {
    const run = card(id).peek();
    if (!run) continue;
    const known = titles.get(run.squadId);
    titles.set(run.squadId, {
      title: run.parentId ? (known?.title ?? run.title) : run.title,
      runs: (known?.runs ?? 0) + 1,
    });
  }
  const shown = [...titles].slice(0, MAX_SQUADS);
  if (squad !== null && !shown.some(([id]) => id === squad))
    shown.push([squad, titles.get(squad) ?? { title: squad, runs: 0 }]);
  return (
    <>
      <select
        aria-label="Squad"
        value={squad ?? ''}
        onChange={event => setSquad(event.currentTarget.value || null)}
      >
        <option value="">all squads</option>
        {shown.map(([id, { title, runs }]) => (
          <option key={id} value={id}>
            {visibleText(title)}
            {runs > 1 ? ` (${runs})` : ''}
          </option>
        ))}
        {titles.size > shown.length && (
          <option disabled>{`${titles.size - shown.length} more: use the filter`}</option>
        )}
      </select>
      {squad !== null && <a href={`/s/${squad}`}>tree and timeline</a>}
    </>
  );
}

/** Focuses the row of the run that the user comes back from, unless something else has the focus. */
function useReturn(list: RefObject<HTMLElement | null>, isFilled: boolean): void {
  useEffect(() => {
    const id = lastRun.peek();
    if (!isFilled || id === null) return;
    lastRun.value = null;
    if (document.activeElement !== document.body) return;
    list.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(id)}"] .run-title`)?.focus();
  }, [isFilled]);
}

const FirstRun = later(() => import('./first-run.tsx').then(m => m.FirstRun), ViewWait);
const BoardView = later(() => import('./board-view.tsx').then(m => m.BoardView), ViewWait);

/** `/`: all runs as a list, or as a board with `?view=board`. */
export function RunsPage() {
  const { url } = useLocation();
  const [view, setView] = useParam('view');
  useEffect(() => {
    lastList.value = url;
  }, [url]);
  const isBoard = view === 'board';
  useKeys([
    {
      key: 'b',
      what: isBoard ? 'Show the runs as a list' : 'Show the runs as a board',
      run: () => setView(isBoard ? null : 'board'),
    },
  ]);
  return isBoard ? (
    <div class="runs">
      <h1 class="unseen">Board</h1>
      <div class="runs-tools">
        <WorkspacePicker />
        <ViewSwitch isBoard />
        <StartButton />
      </div>
      <BoardView />
    </div>
  ) : (
    <RunList />
  );
}

function ViewSwitch({ isBoard = false }: { isBoard?: boolean }) {
  const [, setView] = useParam('view');
  return (
    <span class="view-switch">
      <Button isPressed={!isBoard} onClick={() => setView(null)}>
        list
      </Button>
      <Button isPressed={isBoard} keyName="b" onClick={() => setView('board')}>
        board
      </Button>
    </span>
  );
}

const StartButton = () => (
  <Button icon="plus" keyName="N" onClick={() => openStart()}>
    start a run
  </Button>
);

/** Rows in one list. The browser checks each list, not each row, for whether it is visible: thousands of checks take too long. */
const CHUNK = 50;

const chunksOf = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.max(1, Math.ceil(ids.length / CHUNK)) }, (_, at) =>
    ids.slice(at * CHUNK, (at + 1) * CHUNK),
  );

/** List of runs, in this order: needs you, failed, running, queued, done. */
function RunList() {
  const { route } = useLocation();
  const [named] = useParam('need');
  const [status] = useParam('status');
  const need = named ?? status;
  const [q] = useParam('q');
  const [squad] = useParam('squad');
  const filter = { workspace: workspace.value, needs: needsOf(need), q, squad };
  const board = useBoard(filter);
  const places = useWorkspaces();
  const isPlaced = workspace.value === null && places.length > 1;
  const held = useHeldOrder<HTMLDivElement>(board.order, JSON.stringify(filter));
  useReturn(held.list, held.ids.length > 0);
  const moves = movesBetween(held.ids, held.wantedIds);
  useKeys([
    ...rowKeys(held.list, route),
    { key: 's', what: 'Sort the list', run: held.apply, when: () => moves > 0 },
  ]);

  return (
    <div class="runs">
      <h1 class="unseen">Runs</h1>
      <div class="runs-tools">
        <WorkspacePicker />
        <SquadPicker ids={held.ids} />
        <ViewSwitch />
        <StartButton />
        <span class="runs-moves" aria-live="off">
          {moves > 0 && (
            <Button tone="quiet" keyName="s" onClick={held.apply}>
              Sort again: {plural(moves, 'row')} out of order
            </Button>
          )}
        </span>
      </div>
      <Strange words={unknownNeeds(need)} />
      {board.error && <Problem error={board.error} onRetry={board.reload} />}
      {board.isAnswered && held.ids.length === 0 && <NoRuns filter={filter} />}
      {filter.needs.includes('failed') && <OlderFailures ids={held.ids} />}
      {held.ids.length > 0 && <Columns />}
      <div class="boards" ref={held.list} {...held.hold}>
        {chunksOf(held.ids).map((ids, at) => (
          <RunChunk
            key={at}
            first={at * CHUNK + 1}
            ids={ids.join(' ')}
            {...{ isPlaced, isLoading: board.isLoading }}
          />
        ))}
      </div>
      {board.hasMore && <More onMore={board.more} />}
      <FooterKeys ids={held.ids} />
    </div>
  );
}

interface RunChunkProps {
  /** Number of the first row. */
  first: number;
  /** Ids as one text, so that an unchanged list is not rendered. */
  ids: string;
  isPlaced: boolean;
  isLoading: boolean;
}

function RunChunk({ first, ids, isPlaced, isLoading }: RunChunkProps) {
  const rows = ids.split(' ').filter(Boolean);
  return (
    <ol
      class="board"
      start={first}
      style={`--rows: ${rows.length}`}
      aria-label={`Runs, sorted by what needs you${first === 1 ? '' : `, from number ${first}`}`}
      aria-busy={isLoading}
    >
      {rows.map(id => (
        <RunRow key={id} id={id} isPlaced={isPlaced} />
      ))}
    </ol>
  );
}

/** The count in the top bar has only failures that still need attention; this filter shows all. */
function OlderFailures({ ids }: { ids: readonly string[] }) {
  const older = ids.filter(id => card(id).value?.need === 'done').length;
  if (older === 0) return null;
  return (
    <p class="soft">
      {plural(older, 'failed run')} below {older === 1 ? 'is' : 'are'} not counted above: retried, or older
      than a day.
    </p>
  );
}

/** Names unknown filters, so that the user does not take all runs for filtered ones. */
function Strange({ words }: { words: string[] }) {
  if (words.length === 0) return null;
  return (
    <p class="tone-ask" role="status">
      Unknown filter <b>{visibleText(words.join(', '))}</b>, ignored. Known filters:{' '}
      {NEEDS.map((need, index) => (
        <>
          {index > 0 && ', '}
          <a key={need} href={withQuery('/', { need })}>
            {need}
          </a>
        </>
      ))}
      .
    </p>
  );
}

/** Column titles, hidden from screen readers because each row names its own figures. */
function Columns() {
  return (
    <div class="run-line columns soft" aria-hidden="true">
      <span>state</span>
      <span>role</span>
      <span>task</span>
      <span class="run-engine">engine</span>
      <span class="run-figure">time</span>
      <span class="run-figure run-tokens">tokens</span>
      <span class="run-figure run-money">cost</span>
      <span class="run-figure run-lines">lines</span>
    </div>
  );
}

/** Loads more when the end of the list is scrolled into view. The button is for the keyboard, and after an error. */
function More({ onMore }: { onMore(): Promise<void> }) {
  const [isLoading, setLoading] = useState(false);
  const end = useRef<HTMLParagraphElement>(null);
  const load = async () => {
    setLoading(true);
    await onMore().catch((thrown: ApiError) => showFailure(thrown));
    setLoading(false);
  };
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (isLoading || !end.current) return;
    const seen = new IntersectionObserver(entries => {
      // The last entry is the newest: a busy browser reports several changes at once.
      if (!entries.at(-1)?.isIntersecting) return;
      seen.disconnect();
      void latest.current();
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [isLoading]);
  return (
    <p class="more" ref={end}>
      <Button onClick={() => void load()} why={isLoading ? 'Loading' : null}>
        show more
      </Button>
    </p>
  );
}
