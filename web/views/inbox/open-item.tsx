import { shellWord } from '../../../src/schema/shell-word.ts';
import { settledItem } from '../../state/settled-items.ts';
import { now } from '../../ui/clock.ts';
import { Copy } from '../../ui/copy.tsx';
import { shownAgo } from '../../ui/figures.ts';
import { harmless } from '../../ui/harmless.ts';
import { Icon } from '../../ui/icon.tsx';
import { Ago } from '../../ui/time.tsx';
import { AnswerBox } from './answer-box.tsx';
import { Asked } from './asked.tsx';
import type { ShownItem } from './inbox-page.tsx';
import { Outcome } from './outcome.tsx';
import { SETTLED_LOOKS, settledOf } from './settled-words.ts';
import { useSeen } from './use-seen.ts';

const KINDS = { question: 'asks', approval: 'wants your yes for', permission: 'asks leave for' } as const;

/** One that was settled stays as it is, and takes no answer any more. */
export function OpenItem({ item, isOpen }: { item: ShownItem; isOpen: boolean }) {
  const seen = useSeen();
  const settled = settledItem(item.id) ?? (isOpen ? null : item);
  return (
    <li id={item.id} class="ask" tabIndex={-1} data-item={item.id} data-kind={item.kind}>
      <p class="ask-who soft">
        <Icon name="hand" class="tone-ask" />
        <strong>{item.run.name}</strong> {item.source ? `by way of ${harmless(item.source)} ` : ''}
        {KINDS[item.kind]}
        {' · '}
        <a href={`/r/${item.runId}`}>{harmless(item.run.title) || item.runId}</a>
        {' · '}
        <Ago at={item.createdAt} />
        {item.owner !== 'user' && (
          <>
            {' · asked of '}
            <a href={`/r/${item.owner}`}>the run that started it</a>
          </>
        )}
      </p>
      <Asked {...{ item, seen }} />
      <AnswerBox {...{ item, seen }} settled={settled && SETTLED_LOOKS[settledOf(settled)].word} />
      <p class="ask-deadline soft">
        {settled ? <Outcome item={settled} /> : <Deadline item={item} />}
        <Copy text={`squad answer ${shellWord(item.id)}`} label="command" isShown />
      </p>
    </li>
  );
}

/** When its time is up, and what counts as the answer then. */
function Deadline({ item: { deadlineAt, default: standing } }: { item: ShownItem }) {
  const then =
    standing === null ? 'the agent is told that nobody did' : `the answer is “${harmless(standing)}”`;
  return (
    <span>
      If nobody answers{' '}
      <time dateTime={new Date(deadlineAt).toISOString()}>{shownAgo(deadlineAt, now.value)}</time>, {then}.
    </span>
  );
}
