import { useEffect, useState } from 'preact/hooks';
import { runName } from '../../src/schema/run-name.ts';
import { shownStatus } from '../../src/schema/shown-status.ts';
import { type Changes, card, onChanges } from '../state/live.ts';
import { lookOfStatus } from '../ui/status-words.ts';

/** Says the few changes that somebody who does not see the page wants to hear, and nothing of what agents say. */
export function Announcer() {
  const [text, setText] = useState('');
  useEffect(
    () =>
      onChanges(changes => {
        const said = announcements(changes);
        if (said.length > 0) setText(said.slice(-3).join('. '));
      }),
    [],
  );
  return (
    <p class="unseen" role="status" aria-live="polite">
      {text}
    </p>
  );
}

function announcements({ events }: Changes): string[] {
  return events.flatMap(({ runId, body }) => {
    if (runId === null) return [];
    const run = card(runId).peek();
    const who = run ? runName(run) : 'a run';
    if (body.type === 'inbox.asked' && body.item.owner === 'user') return [`${who} needs you`];
    if (body.type === 'run.ended') return [`${who} ${lookOfStatus(shownStatus(body)).word}`];
    return [];
  });
}
