import './inbox.css';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useKeys } from '../../keys.ts';
import { inbox } from '../../state/live.ts';
import { telling } from '../../state/notifications.ts';
import type { Answers } from '../../state/operations.ts';
import { useQuery } from '../../state/query.ts';
import { Empty } from '../../ui/empty.tsx';
import { useHeldOrder } from '../../ui/held-order.ts';
import { Problem } from '../../ui/problem.tsx';
import { History } from './history.tsx';
import { itemKeys } from './item-keys.ts';
import { OpenItem } from './open-item.tsx';

export type ShownItem = Answers['list_inbox']['items'][number];

/** What agents want of somebody, nearest deadline first, and what was said before. */
export function InboxPage() {
  const { data, error, reload } = useQuery(
    'list_inbox',
    { state: 'all', limit: 100 },
    { refreshOn: changes => changes.inbox.length > 0 },
  );
  const known = useRef(new Map<string, ShownItem>());
  for (const item of data?.items ?? []) known.current.set(item.id, item);
  const isOpen = new Set<string>(inbox.value.map(({ id }) => id));
  const wanted = inbox.value.filter(({ id }) => known.current.has(id)).map(({ id }) => id);
  // One that was answered stays where it was as long as somebody is here: nothing moves under a pointer.
  const held = useHeldOrder<HTMLOListElement>(wanted.join(' '), '');
  useKeys(itemKeys(held.list));
  useGivenItem(held.ids.length > 0);
  const settled = (data?.items ?? []).filter(({ state }) => state !== 'open');

  return (
    <div class="inbox">
      <h1>Waiting for you</h1>
      {telling.value === 'off' && (
        <p class="soft">
          Looking elsewhere? <a href="/settings#notifications">Have your browser tell you.</a>
        </p>
      )}
      {error && <Problem error={error} onRetry={reload} />}
      {data && held.ids.length === 0 && (
        <Empty title="Nobody waits for you">
          Agents ask here, and in a terminal: <code>squad inbox</code>. An answer may come from either.
        </Empty>
      )}
      <ol class="asks" ref={held.list} {...held.hold}>
        {held.ids.map(id => (
          <OpenItem key={id} item={known.current.get(id)!} isOpen={isOpen.has(id)} />
        ))}
      </ol>
      {settled.length > 0 && <History items={settled} />}
    </div>
  );
}

/** `#ask_…`: that one, as soon as it is there. */
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
