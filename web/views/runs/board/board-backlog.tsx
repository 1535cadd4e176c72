import { useState } from 'preact/hooks';
import { visibleText } from '../../../../src/base/text.ts';
import { useQuery } from '../../../state/query.ts';
import { withQuery } from '../../../state/url-state.ts';
import { Button } from '../../../ui/button.tsx';
import { plural } from '../../../ui/figures.ts';
import { changesBacklog } from '../../team/backlog-page.tsx';
import { ItemRun, StartItem } from '../../team/start-item.tsx';
import type { BacklogItem } from '../../team/task-text.ts';

const MAX_SHOWN = 20;

/** Open items of a workspace's backlog. A started item shows its run. */
export function BacklogColumn({ path, q }: { path: string; q: string | null }) {
  const { data } = useQuery('list_backlog', {}, { workspace: path, refreshOn: changesBacklog });
  const [starting, setStarting] = useState<BacklogItem | null>(null);
  const words = (q ?? '').toLowerCase().split(/\s+/);
  const open = (data?.groups.flatMap(({ items }) => items) ?? [])
    .filter(({ done }) => !done)
    .filter(({ title }) => words.every(word => title.toLowerCase().includes(word)));
  const more = open.length - MAX_SHOWN;
  return (
    <section class={`column column-backlog ${open.length === 0 ? 'is-empty' : ''}`} aria-label="Backlog">
      <h3 class="column-name">
        Backlog <span class="num soft">{open.length}</span>
      </h3>
      <ul class="column-cards">
        {open.slice(0, MAX_SHOWN).map(item => (
          <li class="card card-item" key={item.number} data-card={item.key}>
            <a class="run-title" href={withQuery('/backlog', { w: path })}>
              {visibleText(item.title)}
            </a>
            <p class="card-foot">
              <span class="soft">
                {[item.priority, item.owner && `@${item.owner}`, item.issue].filter(Boolean).join(' · ')}
              </span>
              {item.run ? (
                <ItemRun run={item.run} />
              ) : (
                <Button label={`Start a run for: ${item.title}`} onClick={() => setStarting(item)}>
                  start
                </Button>
              )}
            </p>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p class="column-more">
          <a href={withQuery('/backlog', { w: path })}>{plural(more, 'more item')}</a>
        </p>
      )}
      {starting && <StartItem item={starting} workspace={path} onClose={() => setStarting(null)} />}
    </section>
  );
}
