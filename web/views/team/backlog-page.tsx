import '../views.css';
import './backlog.css';
import { useState } from 'preact/hooks';
import { useKeys } from '../../keys.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { useChosen } from '../../ui/chosen.ts';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/layout.tsx';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';
import { Notes } from '../notes.tsx';
import { OfWorkspace } from '../of-workspace.tsx';
import { AddItem, MarkItem, moveItem } from './edit-items.tsx';
import { ItemRun, StartItem } from './start-item.tsx';
import type { BacklogItem } from './task-text.ts';

/** `/backlog`: items of the backlog file, with a button to start a run for each. */
export function BacklogPage() {
  return (
    <div class="backlog">
      <PageHead title="Backlog">
        From <code>.squad/backlog.md</code>. Edit it here or in an editor.
      </PageHead>
      <OfWorkspace what="A backlog">{path => <Items path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Items({ path }: { path: string }) {
  const { data, error, reload } = useQuery(
    'list_backlog',
    {},
    { workspace: path, refreshOn: changesBacklog },
  );
  const [starting, setStarting] = useState<BacklogItem | null>(null);
  const [marking, setMarking] = useState<BacklogItem | null>(null);
  const [isAdding, setAdding] = useState(false);
  const all = data?.groups.flatMap(({ items }) => items) ?? [];
  const { current, choose, moves } = useChosen(all, 'item');
  const file = { workspace: path, revision: data?.revision ?? 'none', reload };
  const move = (item: BacklogItem | undefined, way: 'up' | 'down') =>
    item && moveItem(file, item, way, number => choose(number - 1));
  const has = () => current !== undefined;
  useKeys([
    ...moves,
    {
      key: 's',
      what: 'Start a run for this item',
      run: () => setStarting(current ?? null),
      when: () => current?.done === false,
    },
    { key: 'a', what: 'Add an item', run: () => setAdding(true) },
    { key: 'x', what: 'Mark as done or reopen', run: () => setMarking(current ?? null), when: has },
    { key: 'K', what: 'Move this item up', run: () => move(current, 'up'), when: has },
    { key: 'J', what: 'Move this item down', run: () => move(current, 'down'), when: has },
  ]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return null;
  const groups = data.groups.filter(({ items, text }) => items.length > 0 || text !== null);
  return (
    <>
      <p class="page-tools">
        <Button icon="plus" keyName="a" onClick={() => setAdding(true)}>
          Add an item
        </Button>
      </p>
      <Notes notes={data.notes} />
      {groups.length === 0 && (
        <Empty title="No backlog here" command="squad init">
          <code>squad init</code> creates <code>.squad/backlog.md</code>. An item is a line such as{' '}
          <code>- [ ] Rate limits [P1] @coder (#12)</code>, under headings such as <code>## Next</code>.
        </Empty>
      )}
      {groups.map(({ title, items, text }, index) => (
        <section class="page-part" key={`${index} ${title}`}>
          {title !== null && (
            <h2>
              <PlainLine text={title} />{' '}
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
                onMark={() => setMarking(item)}
                onMove={way => move(item, way)}
              />
            ))}
          </ul>
        </section>
      ))}
      {starting && <StartItem item={starting} workspace={path} onClose={() => setStarting(null)} />}
      {marking && <MarkItem item={marking} file={file} onClose={() => setMarking(null)} />}
      {isAdding && (
        <AddItem
          file={file}
          headings={data.groups.flatMap(({ title }) => title ?? [])}
          onClose={() => setAdding(false)}
        />
      )}
    </>
  );
}

/** Whether the page loads the backlog again: a run may have changed the file, and items show the status of their runs. */
export const changesBacklog = ({ events }: Changes): boolean =>
  events.some(({ body }) => /^(run\.(queued|started|ended)|review\.|squad\.)/.test(body.type));

const DONE: StatusStyle = { word: 'done', icon: 'check', tone: 'good' };
const OPEN: StatusStyle = { word: 'open', icon: 'clock', tone: 'calm' };

interface ItemProps {
  item: BacklogItem;
  isCurrent: boolean;
  onStart(): void;
  onMark(): void;
  onMove(way: 'up' | 'down'): void;
}

function Item({ item, isCurrent, onStart, onMark, onMove }: ItemProps) {
  const { title, done, issue, owner, priority, notes, run } = item;
  return (
    <li class={isCurrent ? 'backlog-item current' : 'backlog-item'}>
      <StatusMark style={done ? DONE : OPEN} />
      <div class="backlog-what">
        <p>
          <PlainLine text={title} />
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
      <span class="backlog-buttons">
        {run && <ItemRun run={run} />}
        <Button
          onClick={onStart}
          label={`${run ? 'Start another run' : 'Start a run'} for: ${title}`}
          why={done ? 'Already done' : null}
          keyName={isCurrent ? 's' : undefined}
        >
          {run ? 'Start again' : 'Start'}
        </Button>
        <Button
          onClick={onMark}
          label={`${done ? 'Reopen' : 'Mark as done'}: ${title}`}
          keyName={isCurrent ? 'x' : undefined}
        >
          {done ? 'Reopen' : 'Done'}
        </Button>
        <Button tone="quiet" onClick={() => onMove('up')} label={`Move up: ${title}`}>
          ↑
        </Button>
        <Button tone="quiet" onClick={() => onMove('down')} label={`Move down: ${title}`}>
          ↓
        </Button>
      </span>
    </li>
  );
}
