import './inbox.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { useSummary } from '../../shell/summary.ts';
import { closedItem } from '../../state/closed-items.ts';
import type { Changes } from '../../state/live.ts';
import { notificationState } from '../../state/notifications.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { now } from '../../ui/clock.ts';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { shownAgo } from '../../ui/figures.ts';
import { useHeldOrder } from '../../ui/held-order.ts';
import { Icon } from '../../ui/icon.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { AnswerBox } from './answer-box.tsx';
import { Asked } from './asked.tsx';
import { CLOSED_STYLES, closedState } from './closed-text.ts';
import { itemKeys } from './item-keys.ts';
import { Outcome } from './outcome.tsx';
import { useSeen } from './use-seen.ts';

/** Lists closed items with their answers. */
export function History({ items, hasMore }: { items: ShownItem[]; hasMore: boolean }) {
  return (
    <section>
      <h2>History</h2>
      <ul class="settled">
        {items.map(item => (
          <li key={item.id}>
            <span class="settled-question">
              <a href={`/r/${item.runId}`}>{item.run.name}</a> {visibleText(item.question)}
            </span>
            <span class="settled-answer">
              <Outcome item={item} />
            </span>
            <span class="soft">{item.answeredAt !== null && <Ago at={item.answeredAt} />}</span>
          </li>
        ))}
      </ul>
      {hasMore && <p class="soft">Only the last {items.length} are shown.</p>}
    </section>
  );
}

const KINDS = { question: 'asks', approval: 'asks for approval', permission: 'asks for permission' } as const;

/** A closed item stays visible but accepts no answer. */
export function OpenItem({ item, isOpen }: { item: ShownItem; isOpen: boolean }) {
  const seen = useSeen();
  const settled = closedItem(item.id) ?? (isOpen ? null : item);
  return (
    <li id={item.id} class="ask" tabIndex={-1} data-item={item.id} data-kind={item.kind}>
      <p class="ask-who soft">
        <Icon name="hand" class="tone-ask" />
        <strong>{item.run.name}</strong> {item.source ? `via ${visibleText(item.source)} ` : ''}
        {KINDS[item.kind]}
        {' · '}
        <a href={`/r/${item.runId}`}>{visibleText(item.run.title) || item.runId}</a>
        {' · '}
        <Ago at={item.createdAt} />
        {item.owner !== 'user' && (
          <>
            {' · addressed to '}
            <a href={`/r/${item.owner}`}>the run that started it</a>
          </>
        )}
      </p>
      <Asked {...{ item, seen }} />
      <AnswerBox {...{ item, seen }} settled={settled && CLOSED_STYLES[closedState(settled)].word} />
      <p class="ask-deadline soft">
        {settled ? <Outcome item={settled} /> : <Deadline item={item} />}
        <Command text={`squad answer ${shellWord(item.id)}`} />
      </p>
    </li>
  );
}

/** Shows the deadline of an item, and what happens after it. */
function Deadline({ item: { deadlineAt, default: standing } }: { item: ShownItem }) {
  const then =
    standing === null ? 'the agent continues without an answer' : `the answer is “${visibleText(standing)}”`;
  return (
    <span>
      If nobody answers,{' '}
      <time dateTime={new Date(deadlineAt).toISOString()}>{shownAgo(deadlineAt, now.value)}</time> {then}.
    </span>
  );
}

export type ShownItem = Output<'list_inbox'>['items'][number];

const FIRST = 100;
const MAX_ITEMS = 1_000;
const refreshOn = ({ inbox }: Changes) => inbox.length > 0;

/** Lists open questions, earliest deadline first, and closed ones. */
export function InboxPage() {
  // The address may name an item beyond the first page. Then more are loaded.
  const [limit, setLimit] = useState(location.hash === '' ? FIRST : MAX_ITEMS);
  const { data, error, reload } = useQuery('list_inbox', { state: 'open', limit }, { refreshOn });
  const before = useQuery('list_inbox', { state: 'settled', limit: FIRST }, { refreshOn });
  const known = useRef(new Map<string, ShownItem>());
  for (const item of data?.items ?? []) known.current.set(item.id, item);
  const open = (data?.items ?? []).filter(({ id }) => !closedItem(id)).map(({ id }) => id);
  const isOpen = new Set<string>(open);
  // An answered item stays in place while the user is in the list, so nothing moves under the pointer.
  const held = useHeldOrder<HTMLOListElement>(open.join(' '), '');
  useKeys(itemKeys(held.list));
  useGivenItem(held.ids.length > 0);
  const { data: summary } = useSummary();
  const decisions = (summary?.counts.needs_you ?? 0) - (summary?.asking ?? 0);
  const settled = before.data?.items ?? [];
  const total = data?.total ?? data?.items.length ?? 0;
  const more = total - (data?.items.length ?? 0);

  return (
    <div class="inbox">
      <h1>Waiting for you {total > 0 && <span class="soft num">{total}</span>}</h1>
      {notificationState.value === 'off' && (
        <p class="soft">
          Working elsewhere? <a href="/settings">Turn on notifications.</a>
        </p>
      )}
      {decisions > 0 && (
        <p>
          <a href="/?need=needs_you">
            {decisions === 1 ? '1 run at its review limit' : `${decisions} runs at their review limit`}
          </a>{' '}
          {decisions === 1 ? 'needs' : 'need'} your decision.
        </p>
      )}
      {error && <Problem error={error} onRetry={reload} />}
      {data && total === 0 && held.ids.length === 0 && (
        <Empty title={decisions > 0 ? 'No open questions' : 'Nothing is waiting for you'}>
          Questions from agents appear here and in a terminal with <code>squad inbox</code>. You can answer in
          either.
        </Empty>
      )}
      <ol class="asks" ref={held.list} {...held.hold}>
        {held.ids.map(id => (
          <OpenItem key={id} item={known.current.get(id)!} isOpen={isOpen.has(id)} />
        ))}
      </ol>
      {more > 0 && (
        <p class="soft">
          {more} more, with later deadlines.{' '}
          {limit < MAX_ITEMS && <Button onClick={() => setLimit(MAX_ITEMS)}>show more</Button>}
        </p>
      )}
      {settled.length > 0 && <History items={settled} hasMore={before.data?.total === null} />}
    </div>
  );
}

/** Focuses the item in the address (`#ask_…`) as soon as it is loaded. */
function useGivenItem(isReady: boolean): void {
  const done = useRef('');
  const look = () => {
    const id = location.hash.slice(1);
    if (!isReady || id === '' || done.current === id) return;
    const item = document.getElementById(id);
    if (!item) return;
    done.current = id;
    item.focus();
  };
  useLayoutEffect(look);
  useEffect(() => {
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  });
}
