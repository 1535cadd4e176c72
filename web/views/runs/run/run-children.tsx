import { useRef, useState } from 'preact/hooks';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-name.ts';
import { card } from '../../../state/live.ts';
import { useQuery } from '../../../state/query.ts';
import { Plain } from '../../../ui/plain.tsx';
import { Status } from '../../../ui/status.tsx';

/** More would push down what the page is about. */
const SHOWN = 3;

/** Those it started, as they are now. */
export function RunChildren({ id, squadId }: { id: string; squadId: string }) {
  const [isOpen, setOpen] = useState(false);
  const isChild = (run: RunCard) => run.parentId === id || run.reviewOf === id;
  const known = useRef(new Set<string>());
  const { data } = useQuery(
    'show_squad',
    { squad: squadId },
    { refreshOn: ({ runs }) => runs.some(run => isChild(run) && !known.current.has(run.id)) },
  );
  const children = data?.runs.filter(isChild) ?? [];
  known.current = new Set(children.map(child => child.id));
  if (children.length === 0) return null;
  const more = children.length - SHOWN;
  return (
    <div class="run-children">
      <ul aria-label="Runs it started and reviewers of it">
        {(isOpen ? children : children.slice(0, SHOWN)).map(run => (
          <Child key={run.id} id={run.id} known={run} />
        ))}
      </ul>
      {more > 0 && (
        <button type="button" class="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'fewer' : `and ${more} more`}
        </button>
      )}
    </div>
  );
}

function Child({ id, known }: { id: string; known: RunCard }) {
  const shown = card(id).value ?? known;
  return (
    <li>
      <Status card={shown} /> <a href={`/r/${id}`}>{runName(shown)}</a>{' '}
      <span class="soft">
        <Plain text={shown.title} isBlock={false} />
      </span>
    </li>
  );
}

/** Its squad, by how many there are and what the first was asked. */
export function SquadLink({ id, squadId }: { id: string; squadId: string }) {
  const runs = useQuery('show_squad', { squad: squadId }).data?.runs ?? [];
  const first = runs[0];
  return (
    <a href={`/s/${squadId}`} class="squad-link">
      {runs.length === 0 ? 'squad' : `squad of ${runs.length}`}
      {first && first.id !== id && (
        <>
          : <Plain text={first.title} isBlock={false} />
        </>
      )}
    </a>
  );
}
