import type { ShownStatus } from '../schema/shown-status.ts';

/** Exit codes that scripts can rely on; listed in `squad help` and docs/reference/statuses.md. */
export const EXIT = {
  done: 0,
  /** A run did not complete, or an operation failed. */
  failed: 1,
  usage: 2,
  needsInput: 3,
  limit: 4,
  /** Same exit code as timeout(1), for `squad wait --timeout`. */
  timeUp: 124,
  interrupted: 130,
} as const;

/** `terminated` counts as success: a reviewer is terminated once its part is done. */
const SUCCESS: readonly ShownStatus[] = ['completed', 'terminated'];

export function exitFor(statuses: readonly ShownStatus[]): number {
  const others = statuses.filter(status => !SUCCESS.includes(status));
  if (others.length === 0) return EXIT.done;
  return others.every(status => status === 'needs_you') ? EXIT.limit : EXIT.failed;
}
