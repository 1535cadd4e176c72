import { useEffect, useRef, useState } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName, squadName } from '../../../../src/schema/run-text.ts';
import { isAtReviewLimit } from '../../../../src/schema/shown-status.ts';
import { addCards, card, inbox } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Status, StatusMark, StatusWord } from '../../../ui/status.tsx';
import { branchStyle } from '../../../ui/status-style.ts';
import { Ago, Duration } from '../../../ui/time.tsx';
import { Lines, Money, Tokens } from '../../../ui/usage.tsx';
import { RunActions } from './run-actions.tsx';
import { RunLink } from './run-link.tsx';
import { runTitle } from './run-title.ts';
import type { ShownRun } from './shown-run.ts';

/** Maximum number of children shown; more would push the content of the page down. */
const SHOWN = 3;

/** The runs that this run started, with their current state. */
function RunChildren({ id, squadId }: { id: string; squadId: string }) {
  const [isOpen, setOpen] = useState(false);
  const isChild = (run: RunCard) => run.parentId === id || run.reviewOf === id;
  const known = useRef(new Set<string>());
  const { data } = useQuery(
    'show_squad',
    { squad: squadId },
    { refreshOn: ({ runs }) => runs.some(run => isChild(run) && !known.current.has(run.id)) },
  );
  const children = data?.runs.filter(isChild) ?? [];
  known.current = new Set(children.map(child => child.id));
  if (children.length === 0) return null;
  const more = children.length - SHOWN;
  return (
    <div class="run-children">
      <ul aria-label="Child runs and reviewers">
        {(isOpen ? children : children.slice(0, SHOWN)).map(run => (
          <Child key={run.id} id={run.id} known={run} />
        ))}
      </ul>
      {more > 0 && (
        <button type="button" class="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'show fewer' : `and ${more} more`}
        </button>
      )}
    </div>
  );
}

function Child({ id, known }: { id: string; known: RunCard }) {
  const shown = card(id).value ?? known;
  return (
    <li>
      <Status card={shown} /> <a href={`/r/${id}`}>{runName(shown)}</a>{' '}
      <span class="soft">
        <PlainLine text={shown.title} />
      </span>
    </li>
  );
}

/** Link to the squad: its name or number of runs, and the task of the first. */
function SquadLink({ id, squadId }: { id: string; squadId: string }) {
  const { data } = useQuery(
    'show_squad',
    { squad: squadId },
    {
      refreshOn: ({ events }) =>
        events.some(one => one.squadId === squadId && one.body.type === 'run.queued'),
    },
  );
  // While a run is running, only its card has its usage. The run itself gets it at the end.
  useEffect(() => addCards(data?.runs ?? []), [data]);
  const runs = data?.runs ?? [];
  const first = runs[0];
  const name = data ? squadName(data.squad.metadata) : null;
  return (
    <a href={`/s/${squadId}`} class="squad-link">
      {name !== null ? (
        <>
          squad <PlainLine text={name} />
        </>
      ) : runs.length < 2 ? (
        'squad'
      ) : (
        `squad of ${runs.length}`
      )}
      {first && first.id !== id && (
        <>
          : <PlainLine text={first.title} />
        </>
      )}
    </a>
  );
}

/** The earlier run of the same task, which this one retries or continues. */
function TriesBefore({ data: { run, tries } }: { data: ShownRun }) {
  const before = tries.of?.runId ?? run.lineageId;
  if (run.reviewOf !== null || before === run.id) return null;
  return (
    <>
      {' '}
      · {tries.of ? BEFORE_LABELS[tries.of.by] : 'continues'} <RunLink id={before} />
    </>
  );
}

/** Later runs of the same task, which show what became of a failure. */
function TriesSince({ data: { tries } }: { data: ShownRun }) {
  if (tries.since.length === 0) return null;
  return (
    <ul class="run-tries" aria-label="Later attempts">
      {tries.since.map(({ runId, by, status }) => (
        <li key={runId}>
          {SINCE_LABELS[by]} <RunLink id={runId} /> {status && <StatusWord status={status} />}
        </li>
      ))}
    </ul>
  );
}

const BEFORE_LABELS = { retry: 'retry of', reply: 'reply to' } as const;
const SINCE_LABELS = { retry: 'Retried as', reply: 'Continued as' } as const;

/** Title, status with its reason, and actions of a run. */
export function RunHeader({ data, isGone = false }: { data: ShownRun; isGone?: boolean }) {
  const { run } = data;
  const live = card(run.id).value;
  const asks = inbox.value.filter(item => item.runId === run.id).length;
  const usage = live?.usage ?? run.usage;
  const known = live ?? {
    need: asks > 0 || isAtReviewLimit(run) ? ('needs_you' as const) : ('running' as const),
    status: run.status,
    error: run.error,
    isStopping: data.turns.at(-1)?.stop != null && run.endedAt === null,
    quiet: data.quiet,
  };
  const isOver = run.endedAt !== null;
  return (
    <header class="run-head">
      <p class="run-kin soft">
        <SquadLink id={run.id} squadId={run.squadId} />
        {run.parentId && (
          <>
            {' '}
            · started by <RunLink id={run.parentId} />
          </>
        )}
        {run.reviewOf && (
          <>
            {' '}
            · reviews <RunLink id={run.reviewOf} />
          </>
        )}
        {data.review && run.reviewOf === null && (
          <>
            {' '}
            · round {data.review.iteration} of {data.review.max}, reviewed by{' '}
            <RunLink id={data.review.reviewerId} />
          </>
        )}
        <TriesBefore data={data} />
      </p>
      <h1>
        <span class="run-role">{runName(run)}</span> <PlainLine text={runTitle(run)} />
      </h1>
      <p class="run-facts">
        {isOver && asks === 0 && !isAtReviewLimit(run) ? (
          <>
            <StatusWord status={run.status} />
            {data.branchState && <StatusMark style={branchStyle(data.branchState)} />}
          </>
        ) : (
          <Status card={known} />
        )}
        <Duration from={run.startedAt} to={run.endedAt} />
        <span class="soft">
          {run.engine}
          {run.model && <> · {run.model}</>}
        </span>
        <span>
          <Tokens usage={usage} /> <span class="soft">tokens</span>
        </span>
        <span>
          <Money usd={usage?.costUsd ?? null} isEstimated={usage?.costIsEstimated} />
          {(usage?.costUsd ?? null) === null && <span class="soft"> cost</span>}
        </span>
        <Lines lines={run.evidence?.diff ?? null} />
        <span class="soft">
          {isOver ? 'ended ' : 'requested '}
          <Ago at={run.endedAt ?? run.createdAt} />
        </span>
        <Copy text={run.id} label="run id" isShown />
      </p>
      <Why data={data} asks={asks} activity={isOver ? null : (live?.activity?.text ?? null)} />
      <TriesSince data={data} />
      {!isGone && <RunChildren id={run.id} squadId={run.squadId} />}
      {!isGone && <RunActions data={data} />}
    </header>
  );
}

function Why({ data, asks, activity }: { data: ShownRun; asks: number; activity: string | null }) {
  const { run, quiet } = data;
  if (asks > 0)
    return (
      <p class="run-why tone-ask">
        <Icon name="hand" /> {asks === 1 ? 'Waiting for an answer' : `Waiting for ${asks} answers`}:{' '}
        <a href={`/r/${run.id}/activity`}>answer below</a> or in the <a href="/inbox">inbox</a>
      </p>
    );
  if (run.error)
    return (
      <p class={`run-why ${isAtReviewLimit(run) ? 'tone-ask' : 'tone-bad'}`}>
        <PlainLine text={run.error.message} /> <code class="faint">{run.error.code}</code>
      </p>
    );
  if (quiet)
    return (
      <p class="run-why tone-ask">
        <Icon name="warn" /> {quiet.text} <Ago at={quiet.since} />
      </p>
    );
  if (run.status === 'waiting_review' && data.review)
    return (
      <p class="run-why soft">
        Waiting for the review by <RunLink id={data.review.reviewerId} />
      </p>
    );
  if (activity === null) return null;
  return (
    <p class="run-why soft">
      <PlainLine text={activity} />
    </p>
  );
}
