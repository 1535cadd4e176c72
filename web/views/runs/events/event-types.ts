import type { EventBody } from '../../../../src/schema/event.ts';

/** Every type there is, so that one that is new is not forgotten here. */
const TYPES: Record<EventBody['type'], true> = {
  'run.queued': true,
  'run.started': true,
  'run.activity': true,
  'run.quiet': true,
  'run.budget': true,
  'run.stopping': true,
  'run.turn_ended': true,
  'run.ended': true,
  'squad.created': true,
  'inbox.asked': true,
  'inbox.settled': true,
  'review.requested': true,
  'review.closed': true,
  'review.limit_changed': true,
  'worktree.made': true,
  'worktree.removed': true,
  'worktree.kept': true,
  'pull_request.opened': true,
  'issues.created': true,
  'branch.integrated': true,
  'tool.called': true,
  'setting.changed': true,
  'runs.pruned': true,
  'hub.started': true,
  'hub.stopped': true,
  'hub.recovered': true,
  'database.restored': true,
};
export const EVENT_TYPES = Object.keys(TYPES);
