import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../../keys.ts';
import { useParam } from '../../../state/url-state.ts';
import { Button } from '../../../ui/button.tsx';
import type { EventFilter } from './event-filter.ts';
import { EVENT_TYPES } from './event-types.ts';

/** Which types and whose; the address has it all. */
export function EventFilters({ filter: { types, run, squad } }: { filter: EventFilter }) {
  const [, setType] = useParam('type');
  const [, setRun] = useParam('run');
  const [, setSquad] = useParam('squad');
  const [typed, setTyped] = useState(run ?? '');
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(run ?? ''), [run]);
  useKeys([{ key: '/', what: 'Events of one run', run: () => box.current?.focus() }]);
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
        <span class="unseen">Only of type</span>
        <select
          value=""
          onChange={event => {
            const chosen = event.currentTarget.value;
            if (chosen !== '') setType([...types, chosen].join(','));
          }}
        >
          <option value="">{types.length === 0 ? 'every type' : 'also type…'}</option>
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
          label={`No longer only ${type}`}
          onClick={() => setType(types.filter(other => other !== type).join(',') || null)}
        >
          {type} ×
        </Button>
      ))}
      <label>
        <span class="unseen">Only of run</span>
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
        <Button label={`No longer only run ${run}`} onClick={() => setRun(null)}>
          {run} ×
        </Button>
      )}
      {squad !== null && (
        <Button label={`No longer only squad ${squad}`} onClick={() => setSquad(null)}>
          {squad} ×
        </Button>
      )}
    </form>
  );
}
