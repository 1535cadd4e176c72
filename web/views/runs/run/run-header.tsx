import { runName } from '../../../../src/schema/run-name.ts';
import { isAtReviewLimit } from '../../../../src/schema/shown-status.ts';
import { card, inbox } from '../../../state/live.ts';
import { Copy } from '../../../ui/copy.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Status, StatusWord } from '../../../ui/status.tsx';
import { Ago, Duration } from '../../../ui/time.tsx';
import { Lines, Money, Tokens } from '../../../ui/usage.tsx';
import { RunActions } from './run-actions.tsx';
import { RunChildren, SquadLink } from './run-children.tsx';
import { RunLink } from './run-link.tsx';
import { runTitle } from './run-title.ts';
import { TriesBefore, TriesSince } from './run-tries.tsx';
import type { ShownRun } from './shown-run.ts';

/** What it is, how it is and why, and what can be done about it. */
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
        <span class="run-role">{runName(run)}</span> <Plain text={runTitle(run)} isBlock={false} />
      </h1>
      <p class="run-facts">
        {isOver && asks === 0 && !isAtReviewLimit(run) ? (
          <StatusWord status={run.status} />
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
        <Money usd={usage?.costUsd ?? null} isEstimated={usage?.costIsEstimated} />
        <Lines lines={run.evidence?.diff ?? null} />
        <span class="soft">
          {isOver ? 'ended ' : 'asked for '}
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
        <Icon name="hand" /> {asks === 1 ? 'It waits for an answer' : `It waits for ${asks} answers`}:{' '}
        <a href={`/r/${run.id}/activity`}>answer below</a> or in the <a href="/inbox">inbox</a>
      </p>
    );
  if (run.error)
    return (
      <p class={`run-why ${isAtReviewLimit(run) ? 'tone-ask' : 'tone-bad'}`}>
        <Plain text={run.error.message} isBlock={false} /> <code class="faint">{run.error.code}</code>
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
        Waits for the review by <RunLink id={data.review.reviewerId} />
      </p>
    );
  if (activity === null) return null;
  return (
    <p class="run-why soft">
      <Plain text={activity} isBlock={false} />
    </p>
  );
}
