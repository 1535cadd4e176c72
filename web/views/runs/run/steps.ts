import type { Event } from '../../../../src/schema/event.ts';
import type { InboxItem } from '../../../../src/schema/inbox.ts';
import { describeEvent } from '../../../../src/schema/run-text.ts';
import { type ShownStatus, shownStatus } from '../../../../src/schema/shown-status.ts';
import { FIGURES } from '../../../ui/figures.ts';

/** Actions of an agent, one row each; consecutive equal actions share a row. */
export type Step =
  | { kind: 'said'; key: number; at: number; until: number; text: string; count: number }
  | {
      kind: 'tools' | 'notes';
      key: number;
      at: number;
      until: number;
      texts: { text: string; count: number; at: number }[];
    }
  | { kind: 'question'; key: number; at: number; item: InboxItem }
  | {
      kind: 'review';
      key: number;
      at: number;
      reviewerId: string;
      iteration: number;
      outcome: string | null;
      reason: string | null;
    }
  | {
      kind: 'mark';
      key: number;
      at: number;
      name: string;
      text: string;
      tone: 'plain' | 'good' | 'bad' | 'ask';
    };

/** Converts events to steps; both are sorted oldest first. */
export function stepsOf(events: readonly Event[]): Step[] {
  const steps: Step[] = [];
  const questions = new Map<string, Step & { kind: 'question' }>();
  const reviews = new Map<string, Step & { kind: 'review' }>();
  for (const event of events) {
    const { seq: key, at, body } = event;
    if (body.type === 'run.activity') {
      const before = { ...event, seq: key - 0.5 };
      if (body.skipped)
        addActivity(steps, before, 'note', `${body.skipped} more, not listed because they came too fast`);
      addActivity(steps, event, body.kind, body.text);
    } else if (body.type === 'tool.called' && body.tool === 'ask_user' && body.ok) {
      // Successful calls of `ask_user` are left out, because the question itself is a step.
    } else if (body.type === 'tool.called')
      addActivity(steps, event, 'tool', `squad: ${describeEvent(body, FIGURES)}`);
    else if (body.type === 'inbox.asked' || body.type === 'inbox.settled') {
      const known = questions.get(body.item.id);
      if (known) known.item = body.item;
      else steps.push(remember(questions, body.item.id, { kind: 'question', key, at, item: body.item }));
    } else if (body.type === 'review.requested') {
      const { reviewerId, iteration } = body;
      const step = { kind: 'review' as const, key, at, reviewerId, iteration, outcome: null, reason: null };
      steps.push(remember(reviews, body.reviewId, step));
    } else if (body.type === 'review.closed') {
      const { reviewerId, iteration, outcome, reason } = body;
      const known = reviews.get(body.reviewId);
      if (known) Object.assign(known, { outcome, reason });
      else steps.push({ kind: 'review', key, at, reviewerId, iteration, outcome, reason });
    } else steps.push({ kind: 'mark', key, at, ...markOf(event) });
  }
  return steps;
}

function remember<S extends Step>(known: Map<string, S>, id: string, step: S): S {
  known.set(id, step);
  return step;
}

function addActivity(
  steps: Step[],
  { seq: key, at }: Event,
  kind: 'text' | 'tool' | 'note',
  text: string,
): void {
  const last = steps.at(-1);
  if (kind === 'text') {
    if (last?.kind === 'said' && last.text === text)
      Object.assign(last, { count: last.count + 1, until: at });
    else steps.push({ kind: 'said', key, at, until: at, text, count: 1 });
    return;
  }
  const wanted = kind === 'tool' ? 'tools' : 'notes';
  if (last?.kind !== wanted) {
    steps.push({ kind: wanted, key, at, until: at, texts: [{ text, count: 1, at }] });
    return;
  }
  last.until = at;
  const before = last.texts.at(-1)!;
  if (before.text === text) before.count++;
  else last.texts.push({ text, count: 1, at });
}

const NAMES: Partial<Record<Event['body']['type'], string>> = {
  'run.queued': 'Queued',
  'run.started': 'Started',
  'run.budget': 'Budget',
  'run.stopping': 'Stopping',
  'run.told': 'Told',
  'run.sent': 'Message',
  'run.receipt': 'Receipt',
  'run.woken': 'Woken',
  'run.limited': 'Limited',
  'run.turn_ended': 'Turn ended',
  'review.limit_changed': 'Rounds',
  'worktree.made': 'Work tree made',
  'worktree.removed': 'Work tree removed',
  'worktree.kept': 'Work tree kept',
  'pull_request.opened': 'Pull request',
  'issues.created': 'Issues',
  'branch.integrated': 'Merged',
  'run.ended': 'Ended',
};

const ENDS: Partial<Record<ShownStatus, 'good' | 'ask'>> = { completed: 'good', needs_you: 'ask' };

function markOf(event: Event): { name: string; text: string; tone: 'plain' | 'good' | 'bad' | 'ask' } {
  const { body } = event;
  const text = describeEvent(body, FIGURES);
  if (body.type === 'run.quiet')
    return body.state === null
      ? { name: 'Active again', text, tone: 'plain' }
      : { name: 'Quiet', text, tone: 'ask' };
  if (body.type === 'run.ended')
    return { name: 'Ended', text, tone: ENDS[shownStatus(body)] ?? (body.error ? 'bad' : 'plain') };
  return {
    name: NAMES[body.type] ?? body.type,
    text,
    tone: body.type === 'run.budget' || body.type === 'run.stopping' ? 'ask' : 'plain',
  };
}
