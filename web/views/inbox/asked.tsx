import { visibleText } from '../../../src/base/text.ts';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import { HiddenWarning } from '../../ui/hidden-warning.tsx';
import type { Seen } from './use-seen.ts';

/** The whole question with its details, including hidden characters. */
export function Asked({ item, seen }: { item: InboxItem; seen: Seen }) {
  const { question, details } = item;
  return (
    <div class="asked" ref={seen.ref}>
      <HiddenWarning text={allTextOf(item)} where="This" />
      <div class="ask-question plain">
        <span data-edge />
        {visibleText(question)}
        {!details && <span data-edge />}
      </div>
      {details && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
        <pre class="ask-details plain" tabIndex={0}>
          {visibleText(details)}
          <span data-edge />
        </pre>
      )}
    </div>
  );
}

const allTextOf = ({ question, details, choices, fields }: InboxItem): string =>
  [question, details ?? '', ...choices, ...fields.flatMap(labelsOf)].join('\n');
const labelsOf = ({ name, title, description, choices }: InboxItem['fields'][number]): string[] => [
  ...[name, title, description ?? ''],
  ...choices,
];
