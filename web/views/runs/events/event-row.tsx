import { useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { eventWords } from '../../../../src/schema/event-words.ts';
import { Copy } from '../../../ui/copy.tsx';
import { FIGURES } from '../../../ui/figures.ts';
import { harmless } from '../../../ui/harmless.ts';
import { Plain } from '../../../ui/plain.tsx';

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** One event on a line; open, the whole of it as it is stored. */
export function EventRow({ event, onRun }: { event: Event; onRun(run: string): void }) {
  const [isOpen, setOpen] = useState(false);
  const { seq, at, runId, squadId, body } = event;
  const words = eventWords(body, FIGURES);
  return (
    <li class="event">
      <details onToggle={toggled => setOpen(toggled.currentTarget.open)}>
        <summary>
          <span class="num faint">{seq}</span>
          <time dateTime={new Date(at).toISOString()}>{clock.format(at)}</time>
          <b>{body.type}</b>
          <span class="event-words">
            <Plain text={words} isBlock={false} />
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
            <pre>{harmless(JSON.stringify(event, null, 2))}</pre>
          </div>
        )}
      </details>
    </li>
  );
}
