import type { InboxItem } from '../../../src/schema/inbox.ts';
import { harmless } from '../../ui/harmless.ts';
import type { Seen } from './use-seen.ts';

/** What is asked, all of it: also what a terminal would have swallowed. */
export function Asked({ item: { question, details }, seen }: { item: InboxItem; seen: Seen }) {
  return (
    <div class="asked" ref={seen.ref}>
      <div class="ask-question plain">
        <span data-edge />
        {harmless(question)}
        {!details && <span data-edge />}
      </div>
      {details && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
        <pre class="ask-details plain" tabIndex={0}>
          {harmless(details)}
          <span data-edge />
        </pre>
      )}
    </div>
  );
}
