import '../views.css';
import './backlog.css';
import { useState } from 'preact/hooks';
import { useKeys } from '../../keys.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Plain } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Notes } from '../notes.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { StartItem } from './start-item.tsx';
import type { BacklogItem } from './task-text.ts';

/** `/backlog`: what is to be done, as the file says, and a run for any of it. */
export function BacklogPage() {
  return (
    <div class="backlog">
      <header class="page-head">
        <h1>Backlog</h1>
        <p class="soft">
          From <code>.squad/backlog.md</code>: it is yours to write, here it is read.
        </p>
      </header>
      <OfWorkspace what="A backlog">{path => <Items path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Items({ path }: { path: string }) {
  const { data, error, reload } = useQuery('list_backlog', {}, { workspace: path, refreshOn });
  const [starting, setStarting] = useState<BacklogItem | null>(null);
  const [chosen, setChosen] = useState(0);
  const open = data?.groups.flatMap(({ items }) => items.filter(({ done }) => !done)) ?? [];
  const current = open[Math.min(chosen, open.length - 1)];
  const has = () => current !== undefined;
  useKeys([
    { key: 'j', what: 'Next item', run: () => setChosen(Math.min(chosen + 1, open.length - 1)), when: has },
    { key: 'k', what: 'Item before', run: () => setChosen(Math.max(chosen - 1, 0)), when: has },
    { key: 's', what: 'Start a run for this item', run: () => setStarting(current ?? null), when: has },
  ]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  const groups = data.groups.filter(({ items, text }) => items.length > 0 || text !== null);
  return (
    <>
      <Notes notes={data.notes} />
      {groups.length === 0 && (
        <Empty title="No backlog here" command="squad init">
          <code>squad init</code> lays down <code>.squad/backlog.md</code>. An item is a line such as{' '}
          <code>- [ ] Rate limits [P1] @coder (#12)</code>, under headings such as <code>## Next</code>.
        </Empty>
      )}
      {groups.map(({ title, items, text }, index) => (
        <section class="page-part" key={`${index} ${title}`}>
          {title !== null && (
            <h2>
              <Plain text={title} isBlock={false} />{' '}
              {items.length > 0 && (
                <span class="soft num">
                  {items.filter(({ done }) => done).length}/{items.length} done
                </span>
              )}
            </h2>
          )}
          {text !== null && (
            <div class="soft">
              <Plain text={text} />
            </div>
          )}
          <ul class="backlog-items">
            {items.map((item, place) => (
              <Item
                key={`${place} ${item.title}`}
                item={item}
                isCurrent={item === current}
                onStart={() => setStarting(item)}
              />
            ))}
          </ul>
        </section>
      ))}
      {starting && <StartItem item={starting} workspace={path} onClose={() => setStarting(null)} />}
    </>
  );
}

/** The file is the user's: it is read again when a run ended, which may have changed it. */
const refreshOn = ({ events }: Changes) => events.some(({ body }) => body.type === 'run.ended');

function Item({ item, isCurrent, onStart }: { item: BacklogItem; isCurrent: boolean; onStart(): void }) {
  const { title, done, issue, owner, priority, notes } = item;
  return (
    <li class={isCurrent ? 'backlog-item current' : 'backlog-item'}>
      <span class={`status ${done ? 'tone-good' : 'tone-calm'}`}>
        <Icon name={done ? 'check' : 'clock'} />
        {done ? 'done' : 'open'}
      </span>
      <div class="backlog-what">
        <p>
          <Plain text={title} isBlock={false} />
          {priority !== null && <span class="tag">{priority}</span>}
          {owner !== null && <span class="soft"> {owner.startsWith('@') ? owner : `@${owner}`}</span>}
          {issue !== null && <span class="soft"> {issue}</span>}
        </p>
        {notes !== null && (
          <div class="soft">
            <Plain text={notes} />
          </div>
        )}
      </div>
      <Button
        onClick={onStart}
        label={`Start a run for: ${title}`}
        why={done ? 'It is done.' : null}
        keyName={isCurrent ? 's' : undefined}
      >
        Start
      </Button>
    </li>
  );
}
