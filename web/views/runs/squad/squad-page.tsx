import '../../views.css';
import './squad.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { visibleText } from '../../../../src/base/text.ts';
import type { Output } from '../../../../src/operations/operations.ts';
import { clientName, squadName } from '../../../../src/schema/run-text.ts';
import { useKeys } from '../../../keys.ts';
import { showFailure } from '../../../shell/ask-first.tsx';
import { openStart } from '../../../shell/overlays.tsx';
import { likeSquad } from '../../../shell/start-command.ts';
import { type ApiError, call } from '../../../state/api.ts';
import { addCards, type Changes, connection } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { saved } from '../../../state/saved.ts';
import { useViewTitle } from '../../../state/view-title.ts';
import { Button } from '../../../ui/button.tsx';
import { now } from '../../../ui/clock.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { plural, shownCount } from '../../../ui/figures.ts';
import { Loading } from '../../../ui/layout.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { Ago } from '../../../ui/time.tsx';
import { MergeChecklist } from '../../integration/merge-checklist.tsx';
import { notifyResult } from '../../notify-result.ts';
import { AgentTree, TotalMoney } from './agent-tree.tsx';
import { Answers } from './answers.tsx';
import { useShownCards } from './shown-cards.ts';
import { squadActions } from './squad-actions.ts';
import { Timeline } from './timeline.tsx';
import { sumOf, totalsOf } from './totals.ts';
import { treeOf, visibleRows } from './tree.ts';

/** Events that change the members or the timeline; everything else is in the cards. */
const STRUCTURAL =
  /^(squad|run\.(queued|started|sent|receipt|stopping|turn_ended|ended)|inbox|review|pull_request|branch|worktree)/;

/** `/s/:squad`: the tree of agents, their cost, and a timeline. */
export function SquadPage() {
  const { params } = useRoute();
  const squad = params.squad ?? '';
  const ids = useRef<ReadonlySet<string>>(new Set());
  const refreshOn = (changes: Changes) => concerns(changes, squad, ids.current);
  const { data, error, reload } = useQuery('show_squad', { squad }, { refreshOn });
  useEffect(() => {
    if (!data) return;
    ids.current = new Set(data.runs.map(({ id }) => id as string));
    addCards(data.runs);
  }, [data]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return <Loading />;
  return <ShownSquad data={data} />;
}

function ShownSquad({ data }: { data: Output<'show_squad'> }) {
  const { route } = useLocation();
  const { squad, turns, marks } = data;
  const cards = useShownCards(data.runs);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string | null>(null);
  const [asks, setAsks] = useState<'cancel' | 'retry' | null>(null);
  const [isMerging, setMerging] = useState(false);
  const tree = treeOf(cards);
  const rows = visibleRows(tree, closed);
  const totals = totalsOf(tree);
  const total = sumOf(tree.map(({ card: { id } }) => totals.get(id)!));
  const name = squadName(squad.metadata);
  useViewTitle(name ?? cards[0]?.title ?? squad.id);
  const isLive = cards.some(({ endedAt }) => endedAt === null);
  // Without a connection the bars of the timeline must not grow, because their length would be a guess.
  const until = isLive && connection.value === 'live' ? now.value : latest(data);
  const actions = squadActions(squad.id, cards);

  const canAct = saved === null;
  const can = (action: keyof typeof actions) => canAct && actions[action].why === null;
  useKeys([
    { key: 'c', what: 'Cancel this squad', run: () => setAsks('cancel'), when: () => can('cancel') },
    { key: 'r', what: 'Retry failed runs', run: () => setAsks('retry'), when: () => can('retry') },
    { key: 'R', what: 'Start a squad like this', run: () => void again(), when: () => canAct },
    {
      key: 'i',
      what: 'Merge the branches of this squad',
      run: () => setMerging(true),
      when: () => can('integrate'),
    },
  ]);

  const again = async () => {
    const asked = await call('show_squad_request', { squad: squad.id }).catch((thrown: ApiError) =>
      showFailure(thrown),
    );
    if (asked) openStart(likeSquad(asked));
  };
  const turn = (id: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(id);
    else next.add(id);
    setClosed(next);
  };
  const carryOut = (what: 'cancel' | 'retry') =>
    what === 'cancel'
      ? notifyResult(call('cancel_run', { squad_id: squad.id }), ({ runs, note }) =>
          [`Stopping ${plural(runs.length, 'run')}.`, note].filter(Boolean).join(' '),
        )
      : notifyResult(call('retry_runs', { id: squad.id }, { workspace: squad.workspace }), started => {
          route(`/s/${started.squadId}`);
          return ['Started.', ...started.warnings].join(' ');
        });

  return (
    <div class="squad-page">
      <header class="page-head">
        <h1>
          {name === null ? `Squad of ${plural(cards.length, 'run')}` : visibleText(name)}{' '}
          <Copy text={squad.id} label="squad id" isShown />
        </h1>
        <p class="soft">
          started <Ago at={squad.createdAt} />
          {squad.client && <> by {clientName(squad.client)}</>} in <code>{squad.workspace}</code> ·{' '}
          {total.tokens === null ? 'tokens unknown' : `${shownCount(total.tokens)} tokens`} ·{' '}
          <TotalMoney total={total} />
        </p>
        {canAct && (
          <p class="actions">
            <Button why={actions.cancel.why} keyName="c" tone="danger" onClick={() => setAsks('cancel')}>
              Cancel squad
            </Button>
            <Button why={actions.retry.why} keyName="r" onClick={() => setAsks('retry')}>
              Retry failed
            </Button>
            <Button keyName="R" onClick={() => void again()}>
              Again, like this
            </Button>
            <Button why={actions.integrate.why} keyName="i" onClick={() => setMerging(true)}>
              Merge…
            </Button>
          </p>
        )}
      </header>
      {isMerging && (
        <MergeChecklist ids={[squad.id]} workspace={squad.workspace} onClose={() => setMerging(false)} />
      )}
      <div class="squad-columns">
        <AgentTree rows={rows} totals={totals} selected={selected} onSelect={setSelected} onOpen={turn} />
        <Timeline {...{ rows, turns, marks, selected, now: until }} onSelect={setSelected} />
      </div>
      {saved === null && <Answers rows={rows.map(({ card }) => card)} />}
      {asks && (
        <Confirm
          title={asks === 'cancel' ? 'Cancel this squad' : 'Retry failed runs'}
          effect={actions[asks].effect}
          command={actions[asks].command}
          yes={asks === 'cancel' ? 'Cancel squad' : 'Retry'}
          tone={asks === 'cancel' ? 'danger' : 'main'}
          onYes={() => carryOut(asks)}
          onClose={() => setAsks(null)}
        />
      )}
    </div>
  );
}

/** Whether a change affects this squad: one of its runs changed, or a new run belongs to it. */
function concerns({ events, runs }: Changes, squad: string, ids: ReadonlySet<string>): boolean {
  return (
    runs.some(run => !ids.has(run.id) && (ids.has(run.parentId ?? '') || ids.has(run.reviewOf ?? ''))) ||
    events.some(
      ({ squadId, runId, body }) => STRUCTURAL.test(body.type) && (squadId === squad || ids.has(runId ?? '')),
    )
  );
}

/** The last time that is known for any run of the squad. */
function latest({ runs, turns, marks, squad }: Output<'show_squad'>): number {
  return Math.max(
    squad.createdAt,
    ...runs.flatMap(({ startedAt, endedAt, activity }) => [startedAt ?? 0, endedAt ?? 0, activity?.at ?? 0]),
    ...turns.map(({ startedAt, endedAt }) => endedAt ?? startedAt),
    ...marks.map(({ at }) => at),
  );
}
