import type { Event, EventBody } from '../../../src/schema/event.ts';

/** What matters of an event, on a line; empty where its type says all. */
export function eventWords({ body }: Event): string {
  switch (body.type) {
    case 'run.queued':
      return `${body.roleId ?? body.engine} on ${body.engine}${body.turn ? `, turn ${body.turn}` : ''}`;
    case 'run.started':
      return `turn ${body.turn}${body.pid === null ? '' : `, process ${body.pid}`}`;
    case 'run.activity':
      return body.skipped === undefined
        ? body.text
        : `${body.text} (before it ${body.skipped} more, too fast to be listed)`;
    case 'run.quiet':
      return body.text;
    case 'run.budget':
      return `$${body.spentUsd.toFixed(2)} of the $${body.budgetUsd.toFixed(2)} of this ${body.scope}`;
    case 'run.stopping':
    case 'hub.stopped':
      return body.reason;
    case 'run.turn_ended':
      return `turn ${body.turn}, exit ${body.exitCode ?? 'unknown'}`;
    case 'run.ended':
      return body.error ? `${body.status}: ${body.error.message}` : body.status;
    case 'inbox.asked':
    case 'inbox.settled':
      return body.item.state === 'open' ? body.item.question : `${body.item.state}: ${body.item.question}`;
    case 'review.requested':
      return `round ${body.iteration}, commit ${body.commit.slice(0, 10)}`;
    case 'review.closed':
      return `round ${body.iteration}: ${body.outcome}${body.reason === null ? '' : `, ${body.reason}`}`;
    case 'worktree.made':
    case 'worktree.removed':
      return body.branch;
    case 'worktree.kept':
      return body.why;
    case 'pull_request.opened':
      return `#${body.number} ${body.url}`;
    case 'issues.created':
      return body.issues.map(({ number, title }) => `#${number} ${title}`).join(', ');
    case 'branch.integrated':
      return `${body.branch} into ${body.into}`;
    case 'tool.called':
      return `${body.tool}${body.client ? ` by ${body.client}` : ''}${body.ok ? '' : `: ${body.code ?? 'failed'}`}`;
    case 'setting.changed':
      return `${body.key} = ${body.value ?? 'default'}`;
    case 'squad.created':
      return body.members === 1 ? '1 run' : `${body.members} runs`;
    case 'hub.started':
      return `version ${body.version}, process ${body.pid}`;
    case 'hub.recovered':
      return `${body.watched} watched, ${body.ended} ended, ${body.requeued} queued again, ${body.lost} lost`;
    case 'runs.pruned':
      return `${body.runs} runs, ${body.bytes} bytes`;
    default:
      return '';
  }
}

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
};
export const EVENT_TYPES = Object.keys(TYPES);
