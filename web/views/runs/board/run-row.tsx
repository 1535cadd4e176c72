import { visibleText } from '../../../../src/base/text.ts';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import { askToCancel, askToRetry } from '../../../shell/run-action.tsx';
import { card as cardOf } from '../../../state/live.ts';
import { Button } from '../../../ui/button.tsx';
import { Status } from '../../../ui/status.tsx';
import { statusStyle } from '../../../ui/status-style.ts';
import { Ago, Duration, Time } from '../../../ui/time.tsx';
import { Lines, Money, Tokens } from '../../../ui/usage.tsx';
import { AskLine } from './ask-line.tsx';
import { useStableQuestion } from './use-stable-question.ts';

/** Row of a run. All rows have two lines and the same height, so that nothing below a row moves. */
export function RunRow({ id, isPlaced }: { id: string; isPlaced: boolean }) {
  const card = cardOf(id).value;
  const kept = useStableQuestion(card?.need === 'needs_you' ? card.asking : null);
  if (!card) return null;
  return (
    <li class={`run need-${card.need}`} data-run={id} ref={kept.row} {...kept.hold}>
      <div class="run-line">
        <Status card={card} />
        <span class="run-role">{runName(card)}</span>
        <a class="run-title" href={`/r/${id}`}>
          {visibleText(card.title) || id}
        </a>
        <span class="run-engine soft" title={card.model ?? undefined}>
          {card.engine}
        </span>
        <span class="run-figure" title={card.startedAt === null ? 'not started' : undefined}>
          <span class="unseen">took </span>
          {card.startedAt === null ? (
            <Ago at={card.createdAt} />
          ) : (
            <Duration from={card.startedAt} to={card.endedAt} />
          )}
        </span>
        <span class="run-figure run-tokens">
          <Tokens usage={card.usage} /> <span class="unseen">tokens</span>
        </span>
        <span class="run-figure run-money">
          <span class="unseen">cost </span>
          <Money usd={card.usage?.costUsd ?? null} isEstimated={card.usage?.costIsEstimated} />
        </span>
        <span class="run-figure run-lines">
          <span class="unseen">lines </span>
          <Lines lines={card.lines} />
        </span>
      </div>
      <div class="run-line second">
        <Place path={isPlaced ? card.workspace : null} />
        <SecondLine card={card} kept={kept} />
      </div>
    </li>
  );
}

/** The workspace. Null if all rows have the same one. */
function Place({ path }: { path: string | null }) {
  if (path === null) return <span class="run-place" />;
  return (
    <span class="run-place faint" title={visibleText(path)}>
      <span class="unseen">in </span>
      {visibleText(path.slice(path.lastIndexOf('/') + 1) || path)}
    </span>
  );
}

function SecondLine({ card, kept }: { card: RunCard; kept: ReturnType<typeof useStableQuestion> }) {
  if (kept.shown)
    return (
      <AskLine
        asking={kept.shown}
        asks={card.asks}
        isSettled={kept.isSettled}
        onNext={kept.hasNext ? kept.showNext : null}
      />
    );
  return (
    <>
      <span class="run-words">
        {card.machine && <span class="soft">on {card.machine} · </span>}
        {card.hub && <span class="soft">at {visibleText(card.hub)} · </span>}
        <Words card={card} />
      </span>
      <span class="run-buttons">
        <RowButtons card={card} />
      </span>
    </>
  );
}

function Words({ card }: { card: RunCard }) {
  if (card.error && card.endedAt !== null) {
    const text = visibleText(card.error.message.split('\n')[0] ?? '');
    return (
      <span class={TONES[card.need]} title={text}>
        {text}
      </span>
    );
  }
  if (card.quiet) return <span class="tone-ask">{visibleText(card.quiet.text)}</span>;
  if (card.endedAt !== null) return <Ended card={card} endedAt={card.endedAt} />;
  if (card.status === 'queued') return <>waiting for a free slot</>;
  if (card.limitedUntil !== null)
    return (
      <span class="tone-ask">
        waiting for the usage limit of {card.engine} until <Time at={card.limitedUntil} />
      </span>
    );
  if (card.activity) {
    const text = visibleText(card.activity.text);
    return <span title={text}>{text}</span>;
  }
  return <>{WAITS[card.status] ?? 'starting'}</>;
}

const WAITS: Partial<Record<RunCard['status'], string>> = {
  waiting_review: 'waiting for review',
  waiting_children: 'waiting for its child runs',
};

const TONES: Partial<Record<RunCard['need'], string>> = { failed: 'tone-bad', needs_you: 'tone-ask' };

const VERDICTS = {
  verified: 'verified',
  claimed: 'claimed, not verified',
  empty: 'changed nothing',
  contradicted: 'contradicted by the evidence',
} as const;

function Ended({ card, endedAt }: { card: RunCard; endedAt: number }) {
  return (
    <>
      {card.verdict && (
        <span class={card.verdict === 'contradicted' ? 'tone-ask' : undefined}>
          {VERDICTS[card.verdict]} ·{' '}
        </span>
      )}
      {card.branch && <code>{visibleText(card.branch)}</code>}
      {card.branch && ' · '}
      {card.sandbox !== 'off' && `${card.sandbox} sandbox · `}
      <Ago at={endedAt} />
    </>
  );
}

function RowButtons({ card }: { card: RunCard }) {
  const isFailure = card.endedAt !== null && statusStyle(card.status).tone === 'bad';
  if (card.endedAt === null)
    return (
      <Button
        tone="quiet"
        keyName="c"
        label={`Cancel ${card.title}`}
        why={card.isStopping ? 'Already stopping' : null}
        onClick={() => askToCancel(card)}
      >
        cancel
      </Button>
    );
  return (
    <>
      {isFailure && (
        <a class="button quiet" href={`/r/${card.id}/output`} aria-label={`Output of ${card.title}`}>
          output<kbd>o</kbd>
        </a>
      )}
      <Button tone="quiet" keyName="r" label={`Retry ${card.title}`} onClick={() => askToRetry(card)}>
        retry
      </Button>
    </>
  );
}
