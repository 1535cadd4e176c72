import { useState } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import { useQuery } from '../../../state/query.ts';
import { Loading, Section } from '../../../ui/layout.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { Status } from '../../../ui/status.tsx';
import { RunAnswer } from '../run/answer.tsx';

/** Number of answers that are open at first. The answers of a larger squad are opened one by one. */
const MAX_OPEN = 4;

/** The answer of every member that has ended. */
export function Answers({ rows }: { rows: readonly RunCard[] }) {
  const ended = rows.filter(({ endedAt }) => endedAt !== null);
  if (ended.length === 0) return null;
  return (
    <Section title="Answers">
      <div class="squad-answers">
        {ended.map((card, index) => (
          <Member key={card.id} card={card} isFirst={index < MAX_OPEN} />
        ))}
      </div>
    </Section>
  );
}

function Member({ card, isFirst }: { card: RunCard; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(isFirst);
  const { data, error, reload } = useQuery('show_run', isOpen ? { run: card.id } : null);
  return (
    <details open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <Status card={card} /> <b>{runName(card)}</b> <PlainLine text={card.title} />
      </summary>
      <p>
        <a href={`/r/${card.id}`}>Open the run</a>
        {card.branch !== null && (
          <>
            {' · '}
            <a href={`/r/${card.id}/changes`}>its changes</a>
          </>
        )}
      </p>
      {error && <Problem error={error} onRetry={reload} />}
      {isOpen && !data && !error && <Loading />}
      {data && (data.result.result ? <RunAnswer data={data} /> : <p class="soft">No answer.</p>)}
    </details>
  );
}
