import './runs.css';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useKeys } from '../../../keys.ts';
import { sayFailure } from '../../../shell/ask-first.tsx';
import { openStart } from '../../../shell/overlays.tsx';
import { WorkspacePicker } from '../../../shell/workspace-picker.tsx';
import type { ApiError } from '../../../state/api.ts';
import { lastList } from '../../../state/last-list.ts';
import { useParam, withQuery } from '../../../state/url-state.ts';
import { workspace } from '../../../state/workspace.ts';
import { Button } from '../../../ui/button.tsx';
import { harmless } from '../../../ui/harmless.ts';
import { useHeldOrder } from '../../../ui/held-order.ts';
import { Problem } from '../../../ui/problem.tsx';
import { NEEDS } from '../../../ui/status-words.ts';
import { movesBetween, needsOf, strangeNeeds } from './board-order.ts';
import { FooterKeys } from './footer-keys.tsx';
import { NoRuns } from './no-runs.tsx';
import { rowKeys } from './row-keys.ts';
import { RunRow } from './run-row.tsx';
import { SquadPicker } from './squad-picker.tsx';
import { useBoard } from './use-board.ts';
import { useReturn } from './use-return.ts';

/** Who needs somebody, first; then who failed, who is at work, who waits and who is done. */
export function RunsPage() {
  const { route, url } = useLocation();
  useEffect(() => {
    lastList.value = url;
  }, [url]);
  const [named] = useParam('need');
  const [status] = useParam('status');
  const need = named ?? status;
  const [q] = useParam('q');
  const [squad] = useParam('squad');
  const filter = { workspace: workspace.value, needs: needsOf(need), q, squad };
  const board = useBoard(filter);
  const held = useHeldOrder<HTMLOListElement>(board.order, JSON.stringify(filter));
  useReturn(held.list, held.ids.length > 0);
  const moves = movesBetween(held.ids, held.wantedIds);
  useKeys([
    ...rowKeys(held.list, route),
    { key: 's', what: 'Put the list in order', run: held.apply, when: () => moves > 0 },
  ]);

  return (
    <div class="runs">
      <h1 class="unseen">Runs</h1>
      <div class="runs-tools">
        <WorkspacePicker />
        <SquadPicker ids={held.ids} />
        <Button icon="plus" keyName="N" onClick={openStart}>
          start a run
        </Button>
        <span class="runs-moves" aria-live="off">
          {moves > 0 && (
            <Button tone="quiet" keyName="s" onClick={held.apply}>
              {moves === 1 ? '1 row has' : `${moves} rows have`} another place: sort
            </Button>
          )}
        </span>
      </div>
      <Strange words={strangeNeeds(need)} />
      {board.error && <Problem error={board.error} onRetry={board.reload} />}
      {board.isAnswered && held.ids.length === 0 && <NoRuns filter={filter} />}
      {held.ids.length > 0 && <Columns />}
      <ol class="board" ref={held.list} aria-label="Runs by need" aria-busy={board.isLoading} {...held.hold}>
        {held.ids.map(id => (
          <RunRow key={id} id={id} />
        ))}
      </ol>
      {board.hasMore && <More onMore={board.more} />}
      <FooterKeys ids={held.ids} />
    </div>
  );
}

/** Said, so that all runs are not taken for those that were asked for. */
function Strange({ words }: { words: string[] }) {
  if (words.length === 0) return null;
  return (
    <p class="tone-ask" role="status">
      No runs are called <b>{harmless(words.join(', '))}</b>: left out of the filter. There is{' '}
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

/** For eyes: each row names its own figures to a screen reader. */
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

function More({ onMore }: { onMore(): Promise<void> }) {
  const [isLoading, setLoading] = useState(false);
  const load = async () => {
    setLoading(true);
    await onMore().catch((thrown: ApiError) => sayFailure(thrown));
    setLoading(false);
  };
  return (
    <p class="more">
      <Button onClick={() => void load()} why={isLoading ? 'Loading' : null}>
        show more
      </Button>
    </p>
  );
}
