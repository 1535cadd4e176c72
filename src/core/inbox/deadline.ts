import type { HubSettings } from '../../schema/config.ts';
import type { Ask } from './ask.ts';

const MINUTE = 60_000;

/**
 * Until when an answer is waited for. Never as long as the asker's own turn may take: it must still be told, and do something
 * with it.
 */
export function deadlineOf(
  { minutes }: Pick<Ask, 'minutes'>,
  settings: HubSettings,
  /** Milliseconds that the asker's turn has left; null: nothing ends it. */
  turnLeft: number | null,
  now: number,
): number {
  const usual = settings['inbox.timeout_minutes'];
  const wanted = now + (usual === 0 ? 0 : (minutes ?? usual)) * MINUTE;
  if (turnLeft === null) return wanted;
  const left = Math.max(0, turnLeft);
  return Math.round(Math.min(wanted, now + Math.max(left - MINUTE, left / 2)));
}
