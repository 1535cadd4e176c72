import { harmless } from '../../ui/harmless.ts';
import { Ago } from '../../ui/time.tsx';
import type { ShownItem } from './inbox-page.tsx';
import { Outcome } from './outcome.tsx';

/** What was asked before, what was said, and by whom. */
export function History({ items, hasMore }: { items: ShownItem[]; hasMore: boolean }) {
  return (
    <section>
      <h2>Before</h2>
      <ul class="settled">
        {items.map(item => (
          <li key={item.id}>
            <span class="settled-question">
              <a href={`/r/${item.runId}`}>{item.run.name}</a> {harmless(item.question)}
            </span>
            <span class="settled-answer">
              <Outcome item={item} />
            </span>
            <span class="soft">{item.answeredAt !== null && <Ago at={item.answeredAt} />}</span>
          </li>
        ))}
      </ul>
      {hasMore && <p class="soft">Only the last {items.length}.</p>}
    </section>
  );
}
