import type { ShownStatus } from '../schema/shown-status.ts';

/** What scripts can rely on; told in `squad help` and the README. */
export const EXIT = {
  done: 0,
  /** A run did not complete, or the machine refused something. */
  failed: 1,
  usage: 2,
  needsInput: 3,
  limit: 4,
  /** `squad wait --timeout`: as timeout(1) says it. */
  timeUp: 124,
  interrupted: 130,
} as const;

/** A reviewer is ended once its part is done. */
const WELL: readonly ShownStatus[] = ['completed', 'terminated'];

export function exitFor(statuses: readonly ShownStatus[]): number {
  const others = statuses.filter(status => !WELL.includes(status));
  if (others.length === 0) return EXIT.done;
  return others.every(status => status === 'needs_you') ? EXIT.limit : EXIT.failed;
}
