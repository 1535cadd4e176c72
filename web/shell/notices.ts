import { visibleText } from '../../src/base/text.ts';
import type { Event } from '../../src/schema/event.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import type { RunCard } from '../../src/schema/run-card.ts';
import { runName } from '../../src/schema/run-text.ts';
import { type ShownStatus, shownStatus } from '../../src/schema/shown-status.ts';
import type { Notice } from '../state/notifications.ts';
import { statusStyle } from '../ui/status-style.ts';

const MAX_NOTICE_LENGTH = 140;
const WANTED: readonly ShownStatus[] = ['error', 'timeout', 'lost', 'needs_you'];

type Known = Pick<RunCard, 'roleId' | 'subagent' | 'engine' | 'title'> | undefined;

export function askNotice(item: Pick<InboxItem, 'id' | 'question'>, run: Known): Notice {
  return {
    tag: item.id,
    title: `${nameOf(run)} needs you`,
    body: oneLine(item.question),
    href: `/inbox#${item.id}`,
  };
}

/** Notification for a run that failed or needs a decision. Null for other events. */
export function failureNotice({ runId, body }: Pick<Event, 'runId' | 'body'>, run: Known): Notice | null {
  if (runId === null || body.type !== 'run.ended' || !WANTED.includes(shownStatus(body))) return null;
  return {
    tag: runId,
    title: `${nameOf(run)} ${statusStyle(shownStatus(body)).word}`,
    body: oneLine(run?.title ?? ''),
    href: `/r/${runId}`,
  };
}

const nameOf = (run: Known): string => (run ? runName(run) : 'A run');

function oneLine(text: string): string {
  const line = visibleText(text).replace(/\s+/g, ' ').trim();
  return line.length > MAX_NOTICE_LENGTH ? `${line.slice(0, MAX_NOTICE_LENGTH - 1).toWellFormed()}…` : line;
}
