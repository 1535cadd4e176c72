import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../../keys.ts';
import { useParam } from '../../../state/url-state.ts';
import { Button } from '../../../ui/button.tsx';
import { EVENT_TYPES, type EventFilter } from './event-filter.ts';

/** Filters by type, run and squad; all are in the address. */
export function EventFilters({ filter: { types, run, squad } }: { filter: EventFilter }) {
  const [, setType] = useParam('type');
  const [, setRun] = useParam('run');
  const [, setSquad] = useParam('squad');
  const [typed, setTyped] = useState(run ?? '');
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(run ?? ''), [run]);
  useKeys([{ key: '/', what: 'Filter events by run', run: () => box.current?.focus() }]);
  const left = EVENT_TYPES.filter(type => !types.includes(type));
  return (
    <form
      class="page-tools event-filters"
      onSubmit={event => {
        event.preventDefault();
        setRun(typed.trim() || null);
      }}
    >
      <label>
        <span class="unseen">Event type</span>
        <select
          value=""
          onChange={event => {
            const chosen = event.currentTarget.value;
            if (chosen !== '') setType([...types, chosen].join(','));
          }}
        >
          <option value="">{types.length === 0 ? 'all types' : 'add type…'}</option>
          {left.map(type => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
      </label>
      {types.map(type => (
        <Button
          key={type}
          label={`Remove filter ${type}`}
          onClick={() => setType(types.filter(other => other !== type).join(',') || null)}
        >
          {type} ×
        </Button>
      ))}
      <label>
        <span class="unseen">Run id</span>
        <input
          ref={box}
          type="search"
          placeholder="/ run id"
          value={typed}
          onInput={event => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button">
        Filter
      </button>
      {run !== null && (
        <Button label={`Remove filter ${run}`} onClick={() => setRun(null)}>
          {run} ×
        </Button>
      )}
      {squad !== null && (
        <Button label={`Remove filter ${squad}`} onClick={() => setSquad(null)}>
          {squad} ×
        </Button>
      )}
    </form>
  );
}
