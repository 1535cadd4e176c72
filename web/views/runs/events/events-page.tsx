import '../../views.css';
import './events.css';
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../../src/base/text.ts';
import type { Event } from '../../../../src/schema/event.ts';
import { describeEvent, runName } from '../../../../src/schema/run-text.ts';
import { shellWord } from '../../../../src/schema/shell-word.ts';
import { useKeys } from '../../../keys.ts';
import { type ApiError, asApiError, call } from '../../../state/api.ts';
import { card, onChanges } from '../../../state/live.ts';
import { useParam } from '../../../state/url-state.ts';
import { Button } from '../../../ui/button.tsx';
import { Command, Copy } from '../../../ui/copy.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { FIGURES, plural } from '../../../ui/figures.ts';
import { PageHead } from '../../../ui/layout.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Problem } from '../../../ui/problem.tsx';
import { runTitle } from '../run/run-title.ts';
import { type EventFilter, filterOf, matches, together } from './event-filter.ts';
import { EventFilters } from './event-filters.tsx';

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** One event as a line that opens to the complete stored event. */
export function EventRow({ event, onRun }: { event: Event; onRun(run: string): void }) {
  const [isOpen, setOpen] = useState(false);
  const { seq, at, runId, squadId, body } = event;
  const words = describeEvent(body, FIGURES);
  return (
    <li class="event">
      <details onToggle={toggled => setOpen(toggled.currentTarget.open)}>
        <summary>
          <span class="num faint">{seq}</span>
          <time dateTime={new Date(at).toISOString()}>{clock.format(at)}</time>
          <b>{body.type}</b>
          <span class="event-run">{runId !== null && <RunOf id={runId} />}</span>
          <span class="event-words">
            <PlainLine text={words} />
          </span>
        </summary>
        {isOpen && (
          <div class="event-whole">
            <p class="page-tools">
              {runId !== null && (
                <>
                  <a href={`/r/${runId}`}>{runId}</a>
                  <button type="button" class="button quiet" onClick={() => onRun(runId)}>
                    only this run
                  </button>
                </>
              )}
              {squadId !== null && <a href={`/s/${squadId}`}>{squadId}</a>}
              <Copy text={JSON.stringify(event)} label="event as JSON" />
            </p>
            <pre>{visibleText(JSON.stringify(event, null, 2))}</pre>
          </div>
        )}
      </details>
    </li>
  );
}

/** Role and task of the run of an event. The live feed and `nameRuns` fill the cards. */
function RunOf({ id }: { id: string }) {
  const known = card(id).value;
  const named = names.value.get(id);
  const text = known ? `${runName(known)}: ${known.title}` : (named ?? id);
  return <PlainLine text={text} />;
}

const names = signal<ReadonlyMap<string, string>>(new Map());

/** Loads the names of runs whose events are shown. A removed run keeps its id as name. */
async function nameRuns(events: readonly Event[]): Promise<void> {
  const ids = new Set(events.flatMap(({ runId }) => runId ?? []));
  const missing = [...ids].filter(id => !names.peek().has(id));
  if (missing.length === 0) return;
  const found = await call('find_runs', { ids: missing }).catch(() => null);
  const named = found?.runs.map(run => [run.id, `${runName(run)}: ${runTitle(run)}`] as const) ?? [];
  names.value = new Map([...names.peek(), ...named]);
}

const AT_ONCE = 200;
/** Maximum number of events kept in memory. Going back to the top loads older ones again. */
const MAX_SHOWN = 5_000;

/** `/events`: everything that happened, newest first, as it happens. */
export function EventsPage() {
  const { query } = useLocation();
  const filter = filterOf(query);
  const key = JSON.stringify(filter);
  return (
    <div class="events">
      <PageHead title="Events">
        Everything that happened, in order. Events are never changed.{' '}
        <Command
          text={`squad events${filter.run === null ? '' : ` --run ${shellWord(filter.run)}`} --follow`}
        />
      </PageHead>
      <EventFilters filter={filter} />
      <List filter={filter} key={key} />
    </div>
  );
}

function List({ filter }: { filter: EventFilter }) {
  const [events, setEvents] = useState<Event[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isLoading, setLoading] = useState(false);
  const [waiting, setWaiting] = useState<Event[]>([]);
  const [, setRun] = useParam('run');
  const isThere = useRef(true);

  const load = async (before: number | null) => {
    setLoading(true);
    setError(null);
    try {
      const page = await call('list_events', {
        limit: AT_ONCE,
        ...(filter.run !== null && { run: filter.run }),
        ...(filter.squad !== null && { squad: filter.squad }),
        ...(filter.types.length > 0 && { types: filter.types as Event['body']['type'][] }),
        ...(before !== null && { before }),
      });
      if (!isThere.current) return;
      setEvents(known => together(page.events, before === null ? [] : (known ?? []), MAX_SHOWN));
      setNext(page.next);
      void nameRuns(page.events);
    } catch (thrown) {
      if (isThere.current) setError(asApiError(thrown));
    } finally {
      if (isThere.current) setLoading(false);
    }
  };

  useEffect(() => {
    void load(null);
    const stop = onChanges(changes => {
      if (changes.isReset) void load(null);
      const fresh = changes.events.filter(event => matches(event, filter));
      if (fresh.length === 0) return;
      // New events must not move the list for a user who reads further down.
      if (scrollY > 80) setWaiting(held => together(fresh, held, MAX_SHOWN));
      else setEvents(known => known && together(fresh, known, MAX_SHOWN));
    });
    return () => {
      isThere.current = false;
      stop();
    };
  }, []);

  const showWaiting = () => {
    setEvents(known => together(waiting, known ?? [], MAX_SHOWN));
    setWaiting([]);
    scrollTo({ top: 0 });
  };
  useKeys([
    { key: 't', what: 'Show the newest events', run: showWaiting, when: () => waiting.length > 0 },
    {
      key: 'o',
      what: 'Load older events',
      run: () => void load(next),
      when: () => next !== null && !isLoading,
    },
  ]);

  if (error && !events) return <Problem error={error} onRetry={() => void load(null)} />;
  if (!events) return null;
  const isFull = events.length >= MAX_SHOWN;
  return (
    <>
      {waiting.length > 0 && (
        <p class="events-new">
          <Button tone="main" keyName="t" onClick={showWaiting}>
            {plural(waiting.length, 'new event')}
          </Button>
        </p>
      )}
      {events.length === 0 && (
        <Nothing isFiltered={filter.types.length > 0 || filter.run !== null || filter.squad !== null} />
      )}
      <ol class="event-list" aria-label="Events, newest first">
        {events.map(event => (
          <EventRow key={event.seq} event={event} onRun={run => setRun(run)} />
        ))}
      </ol>
      <div class="page-tools">
        {error && <Problem error={error} onRetry={() => void load(next)} />}
        {next !== null && !isFull && (
          <Button keyName="o" onClick={() => void load(next)} why={isLoading ? 'Loading…' : null}>
            Older
          </Button>
        )}
        {isFull && (
          <span class="soft">Only {MAX_SHOWN} events can be shown. Narrow the filter to see older ones.</span>
        )}
      </div>
    </>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No matching events">Remove a filter to see more.</Empty>;
  return (
    <Empty title="No events yet" command={'squad run coder "Say hello"'}>
      Starts, questions, reviews and ends of runs appear here.
    </Empty>
  );
}
