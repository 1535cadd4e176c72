import '../../views.css';
import './board.css';
import { computed, signal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../../src/base/text.ts';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { BOARD_COLUMNS, type BoardColumn } from '../../../../src/schema/shown-status.ts';
import { useKeys } from '../../../keys.ts';
import { changesBoard } from '../../../shell/summary.ts';
import { useWorkspaces } from '../../../shell/workspace-picker.tsx';
import { addCards, card } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { useParam, withQuery } from '../../../state/url-state.ts';
import { workspace } from '../../../state/workspace.ts';
import { Empty } from '../../../ui/empty.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { BacklogColumn } from './board-backlog.tsx';
import { RunEntry, SquadEntry } from './board-card.tsx';
import { type BoardEntry, type BoardSquad, emptyColumns, type Lane, lanesOf } from './board-lanes.ts';
import { rowKeys } from './row-keys.ts';

const TITLES: Record<BoardColumn, string> = {
  working: 'Working',
  needs_you: 'Needs you',
  in_review: 'In review',
  ready: 'Ready to merge',
  merged: 'Merged',
  done: 'Done',
};

/** `/?view=board`: runs in columns by their next step, with one lane per workspace. */
export function BoardView() {
  const [q] = useParam('q');
  const { route } = useLocation();
  const chosen = workspace.value;
  const board = useRef<HTMLDivElement>(null);
  const input = { workspace: chosen ?? undefined, ...(q && { q }) };
  const { data, error, reload } = useQuery('list_columns', input, { refreshOn: changesBoard });
  const known = useKnown(data);
  const places = useWorkspaces();
  useKeys([...rowKeys(board, route), ...columnKeys(() => board.current)]);

  const lanes: Lane[] = JSON.parse(known.lanes.value);
  const here = chosen ?? (places.length === 1 ? places[0]!.path : null);
  if (here !== null && lanes.length === 0) lanes.push({ workspace: here, columns: emptyColumns() });
  const squads = new Map((data?.squads ?? []).map(squad => [squad.id as string, squad]));
  return (
    <div class="board-view" ref={board}>
      {error && <Problem error={error} onRetry={reload} />}
      {data && lanes.length === 0 && (
        <Empty title={q ? `No runs match “${q}”` : 'No runs yet'}>
          {q ? <a href={withQuery('/', { view: 'board' })}>Show all runs</a> : 'Press N to start a run.'}
        </Empty>
      )}
      {lanes.map(lane => (
        <LaneRow key={lane.workspace} {...{ lane, squads, more: data?.more }} isNamed={here === null} q={q} />
      ))}
    </div>
  );
}

interface LaneRowProps {
  lane: Lane;
  squads: ReadonlyMap<string, BoardSquad>;
  more: { merged: boolean; done: boolean } | undefined;
  isNamed: boolean;
  q: string | null;
}

function LaneRow({ lane: { workspace: path, columns }, squads, more, isNamed, q }: LaneRowProps) {
  const name = visibleText(path.slice(path.lastIndexOf('/') + 1) || path);
  return (
    <section class="lane" aria-label={isNamed ? name : 'Board'}>
      {isNamed ? (
        <h2 class="lane-name" title={visibleText(path)}>
          <button type="button" class="lane-choose" onClick={() => (workspace.value = path)}>
            {name}
          </button>
        </h2>
      ) : (
        <h2 class="unseen">{name}</h2>
      )}
      <div class="lane-columns">
        <BacklogColumn path={path} q={q} />
        {BOARD_COLUMNS.map(column => (
          <section
            key={column}
            class={`column column-${column} ${columns[column].length === 0 ? 'is-empty' : ''}`}
            aria-label={TITLES[column]}
          >
            <h3 class="column-name">
              {TITLES[column]} <span class="num soft">{columns[column].length}</span>
            </h3>
            <ul class="column-cards">
              {columns[column].map(entry => (
                <Entry key={entry.squadId ?? entry.ids[0]} {...{ entry, column, squads }} />
              ))}
            </ul>
            {(column === 'merged' || column === 'done') && more?.[column] && (
              <p class="column-more">
                <a href={withQuery('/', { need: 'done' })}>older runs</a>
              </p>
            )}
          </section>
        ))}
      </div>
    </section>
  );
}

interface EntryProps {
  entry: BoardEntry;
  column: BoardColumn;
  squads: ReadonlyMap<string, BoardSquad>;
}

function Entry({ entry: { squadId, ids }, column, squads }: EntryProps) {
  if (squadId === null) return <RunEntry id={ids[0]!} column={column} />;
  return <SquadEntry id={squadId} name={squads.get(squadId)?.name ?? null} ids={ids} column={column} />;
}

/** Sorts the runs of the last response into lanes, with their current cards. */
function useKnown(data: { runs: RunCard[]; squads: BoardSquad[] } | undefined) {
  const known = useMemo(() => {
    const ids = signal<readonly string[]>([]);
    const squads = signal<readonly BoardSquad[]>([]);
    return {
      ids,
      squads,
      // Compares lanes as text, so that the board is rendered only when a card moves.
      lanes: computed(() => {
        const cards = ids.value.map(id => card(id).value).filter((one): one is RunCard => one !== undefined);
        return JSON.stringify(lanesOf(cards, squads.value));
      }),
    };
  }, []);
  useLayoutEffect(() => {
    if (!data) return;
    addCards(data.runs);
    known.squads.value = data.squads;
    known.ids.value = data.runs.map(({ id }) => id);
  }, [data]);
  return known;
}

/** Creates the keys that move the focus to the next column with a card. */
function columnKeys(board: () => HTMLElement | null) {
  const move = (step: 1 | -1) => {
    const columns = [...(board()?.querySelectorAll<HTMLElement>('.column:has([data-card])') ?? [])];
    const at = columns.findIndex(column => column.contains(document.activeElement));
    const to = columns[at === -1 ? 0 : Math.min(Math.max(at + step, 0), columns.length - 1)];
    const title = to?.querySelector<HTMLElement>('.run-title');
    title?.focus({ preventScroll: true });
    title?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  return (['l', 'right', 'h', 'left'] as const).map((key, index) => ({
    key,
    what: index < 2 ? 'Next column' : 'Previous column',
    repeats: true as const,
    run: () => move(index < 2 ? 1 : -1),
  }));
}
