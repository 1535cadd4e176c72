import type { Event } from '../../src/schema/event.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import type { RunCard } from '../../src/schema/run-card.ts';
import { runName } from '../../src/schema/run-name.ts';
import type { Notice } from '../state/notifications.ts';
import { harmless } from '../ui/harmless.ts';
import { lookOfStatus } from '../ui/status-words.ts';

const LONGEST = 140;
const FAILED: readonly string[] = ['error', 'timeout', 'lost'];

type Known = Pick<RunCard, 'roleId' | 'subagent' | 'engine' | 'title'> | undefined;

export function askNotice(item: Pick<InboxItem, 'id' | 'question'>, run: Known): Notice {
  return {
    tag: item.id,
    title: `${nameOf(run)} needs you`,
    body: oneLine(item.question),
    href: `/inbox#${item.id}`,
  };
}

/** Of an event that is the end of a run nobody ended and that did not do its work; null: it is none. */
export function failureNotice({ runId, body }: Pick<Event, 'runId' | 'body'>, run: Known): Notice | null {
  if (runId === null || body.type !== 'run.ended' || !FAILED.includes(body.status)) return null;
  return {
    tag: runId,
    title: `${nameOf(run)} ${lookOfStatus(body.status).word}`,
    body: oneLine(run?.title ?? ''),
    href: `/r/${runId}`,
  };
}

const nameOf = (run: Known): string => (run ? runName(run) : 'A run');

function oneLine(text: string): string {
  const line = harmless(text).replace(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line;
}
