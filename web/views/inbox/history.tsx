import type { AnsweredBy } from '../../../src/schema/inbox.ts';
import { harmless } from '../../ui/harmless.ts';
import { Ago } from '../../ui/time.tsx';
import type { ShownItem } from './inbox-page.tsx';

/** What was asked before, what was said, and by whom. */
export function History({ items }: { items: ShownItem[] }) {
  return (
    <section>
      <h2>Before</h2>
      <ul class="settled">
        {items.map(item => (
          <li key={item.id}>
            <span class="settled-question">
              <a href={`/r/${item.runId}`}>{item.run.roleId ?? 'agent'}</a> {harmless(item.question)}
            </span>
            <span class="settled-answer">
              <Outcome item={item} />
            </span>
            <span class="soft">{item.answeredAt !== null && <Ago at={item.answeredAt} />}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Outcome({ item: { state, answer, answeredBy } }: { item: ShownItem }) {
  if (state === 'withdrawn') return <span class="faint">withdrawn: its run ended</span>;
  return (
    <>
      {answer === null ? <span class="faint">no answer</span> : harmless(answer)}
      <span class="soft"> · {state === 'expired' ? 'time was up' : byWhom(answeredBy)}</span>
    </>
  );
}

function byWhom(by: AnsweredBy | null): string {
  if (by?.who === 'run') return `by ${by.via}`;
  if (by?.who === 'default') return 'the default';
  return by?.via ? `you, ${by.via === 'page' ? 'on the page' : `by ${by.via}`}` : 'you';
}
