import { visibleText } from '../../../../src/base/text.ts';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import type { BoardColumn } from '../../../../src/schema/shown-status.ts';
import { columnOf, isAtReviewLimit } from '../../../../src/schema/shown-status.ts';
import { askToRetry } from '../../../shell/run-action.tsx';
import { card as cardOf } from '../../../state/live.ts';
import { withQuery } from '../../../state/url-state.ts';
import { Button } from '../../../ui/button.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Status } from '../../../ui/status.tsx';
import { cardStyle } from '../../../ui/status-style.ts';
import { Ago, Duration } from '../../../ui/time.tsx';
import { Lines, Money } from '../../../ui/usage.tsx';

interface EntryProps {
  column: BoardColumn;
}

export function RunEntry({ id, column }: EntryProps & { id: string }) {
  const card = cardOf(id).value;
  if (!card) return null;
  return (
    <li class={`card need-${card.need}`} data-run={id} data-card={id}>
      <p class="card-head">
        <Status card={card} />
        <span class="card-role">{runName(card)}</span>
      </p>
      <a class="run-title" href={`/r/${id}`}>
        {visibleText(card.title) || id}
      </a>
      <Note card={card} />
      <p class="card-foot">
        <span class="soft">
          {card.machine && `${card.machine} · `}
          {card.hub && `${visibleText(card.hub)} · `}
          {card.endedAt === null ? (
            <Duration from={card.startedAt ?? card.createdAt} to={null} />
          ) : (
            <Ago at={card.endedAt} />
          )}
          {card.usage?.costUsd != null && (
            <>
              {' · '}
              <Money usd={card.usage.costUsd} isEstimated={card.usage.costIsEstimated} />
            </>
          )}
          {card.lines && (
            <>
              {' · '}
              <Lines lines={card.lines} />
            </>
          )}
        </span>
        <Next card={card} column={column} />
      </p>
    </li>
  );
}

/** Card of a squad on the board, with a mark for each member. */
export function SquadEntry({
  id,
  name,
  ids,
  column,
}: EntryProps & { id: string; name: string | null; ids: readonly string[] }) {
  const members = ids.flatMap(member => cardOf(member).value ?? []);
  const urgent = members.find(member => columnOf(member) === column) ?? members[0];
  if (!urgent) return null;
  const spent = members.flatMap(({ usage }) => usage?.costUsd ?? []);
  return (
    <li class={`card card-squad need-${urgent.need}`} data-run={urgent.id} data-card={id}>
      <p class="card-head">
        <Status card={urgent} />
        <span class="card-role">squad of {members.length}</span>
      </p>
      <a class="run-title" href={`/s/${id}`}>
        {visibleText(name ?? members[0]?.title ?? id)}
      </a>
      <ul class="card-marks" aria-label="Members">
        {members.slice(0, MAX_MARKS).map(member => {
          const style = cardStyle(member);
          const label = `${runName(member)}: ${style.word}`;
          return (
            <li key={member.id}>
              <a
                href={`/r/${member.id}`}
                class={`card-mark tone-${style.tone}`}
                title={visibleText(label)}
                aria-label={visibleText(label)}
              >
                <Icon name={style.icon} />
              </a>
            </li>
          );
        })}
        {members.length > MAX_MARKS && <li class="soft">+{members.length - MAX_MARKS}</li>}
      </ul>
      <Note card={urgent} isOfMember />
      <p class="card-foot">
        <span class="soft">
          {urgent.endedAt === null ? (
            <Duration from={urgent.startedAt ?? urgent.createdAt} to={null} />
          ) : (
            <Ago at={urgent.endedAt} />
          )}
          {spent.length > 0 && (
            <>
              {' · '}
              <Money usd={spent.reduce((sum, usd) => sum + usd, 0)} />
            </>
          )}
        </span>
        <Next card={urgent} column={column} />
      </p>
    </li>
  );
}

const MAX_MARKS = 12;

/** Shows the run's current activity, question or error. */
function Note({ card, isOfMember = false }: { card: RunCard; isOfMember?: boolean }) {
  const text = noteOf(card);
  if (text === null) return null;
  const tone = card.need === 'failed' ? 'tone-bad' : card.need === 'needs_you' ? 'tone-ask' : 'soft';
  return (
    <p class={`card-note ${tone}`} title={visibleText(text)}>
      {isOfMember && <b>{runName(card)}: </b>}
      {visibleText(text)}
    </p>
  );
}

function noteOf(card: RunCard): string | null {
  if (card.asking) return card.asking.question;
  if (isAtReviewLimit(card)) return `${firstLine(card.error?.message)} ${DECIDE}`;
  if (card.error && card.endedAt !== null) return firstLine(card.error.message);
  if (card.quiet) return card.quiet.text;
  if (card.endedAt !== null) return card.branchState === null ? null : card.branch;
  if (card.status === 'queued') return 'waiting for a free slot';
  return card.activity?.text ?? null;
}

const DECIDE = 'Approve it, allow another round, merge it, or give it up.';

const firstLine = (text = ''): string => text.split('\n', 1)[0] ?? '';

/** Link to the next step for a run in this column. */
function Next({ card, column }: { card: RunCard; column: BoardColumn }) {
  const title = visibleText(card.title);
  if (column === 'needs_you' && card.asking)
    return <Step href={`/inbox#${card.asking.id}`} label={`Answer: ${title}`} text="answer" />;
  if (column === 'needs_you' && isAtReviewLimit(card))
    return <Step href={`/r/${card.id}/review`} label={`Decide: ${title}`} text="decide" />;
  if (column === 'needs_you' && card.need === 'failed')
    return (
      <Button keyName="r" label={`Retry ${card.title}`} onClick={() => askToRetry(card)}>
        retry
      </Button>
    );
  if (column === 'in_review')
    return <Step href={`/r/${card.id}/changes`} label={`Review: ${title}`} text="review" />;
  if (column === 'ready')
    return <Step href={withQuery('/merge', { w: card.workspace })} label={`Merge: ${title}`} text="merge" />;
  return null;
}

const Step = ({ href, label, text }: { href: string; label: string; text: string }) => (
  <a class="button" href={href} aria-label={label}>
    {text}
  </a>
);
