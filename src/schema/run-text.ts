import { visibleLine } from '../base/text.ts';
import type { EventBody } from './event.ts';
import type { MessageDelivery } from './run.ts';
import { shownStatus } from './shown-status.ts';

/** Fields that name a run. A run has its subagent in its options; cards and summaries have it next to the role. */
export type NamedRun = { roleId: string | null; engine: string } & (
  | { subagent: string | null }
  | { options: { subagent: string | null } }
);

/** The name of a run wherever runs are shown: its role, its subagent or its engine. */
export const runName = (run: NamedRun): string =>
  run.roleId ?? ('options' in run ? run.options : run).subagent ?? run.engine;

/** The name that the caller gave a squad. Null for none. */
export const squadName = (metadata: Readonly<Record<string, unknown>> | null): string | null =>
  typeof metadata?.name === 'string' && metadata.name.trim() !== '' ? metadata.name : null;

/** The name of a client. That of the web UI's own calls is `page`. */
export const clientName = (client: string): string => (client === 'page' ? 'the web UI' : client);

/** How the terminal or the web UI formats figures. */
interface FigureFormat {
  duration(ms: number): string;
  money(usd: number): string;
}

/** The content of an event as text. Empty for an event type of a newer version. */
export function describeEvent(body: EventBody, { duration, money }: FigureFormat): string {
  switch (body.type) {
    case 'hub.started':
      return `version ${body.version}, pid ${body.pid}`;
    case 'hub.stopped':
      return body.reason;
    case 'hub.recovered':
      return `${body.from === undefined ? '' : `taken over from ${visibleLine(body.from)}: `}${body.watched} running, ${body.ended} ended, ${body.requeued} queued again, ${body.lost} lost`;
    case 'database.restored':
      return describeRestored(body);
    case 'squad.created':
      return body.members === 1 ? '1 member' : `${body.members} members`;
    case 'run.queued':
      return `${queuedAs(body)} on ${body.engine}${body.turn === undefined ? '' : `, turn ${body.turn}`}`;
    case 'run.started':
      return `turn ${body.turn}${body.pid === null ? '' : `, pid ${body.pid}`}`;
    case 'run.activity':
      return body.skipped === undefined
        ? body.text
        : `${body.text} (${body.skipped} earlier steps not listed)`;
    case 'run.quiet':
      return body.state === null ? 'active again' : `${body.state.replaceAll('_', ' ')}: ${body.text}`;
    case 'run.budget':
      return `${money(body.spentUsd)} of ${money(body.budgetUsd)} for the ${body.scope}`;
    case 'run.stopping':
      return `${body.reason.replaceAll('_', ' ')}${body.by === undefined ? '' : `, by ${body.by}`}`;
    case 'run.told':
      return `${body.from === undefined ? '' : `from ${body.from}, `}${body.delivery === 'queued' ? 'for its next turn: ' : ''}${visibleLine(body.text)}`;
    case 'run.sent':
      return `to ${body.to ?? 'the client'}, ${deliveryText(body.delivery)}: ${visibleLine(body.text)}`;
    case 'run.receipt':
      return `message ${body.id} to ${body.to}: ${deliveryText(body.delivery)}`;
    case 'run.woken':
      return describeWoken(body);
    case 'run.limited':
      return `usage limit of ${body.engine}: ${body.until === null ? `${body.next} takes over` : `waits until ${limitTime(body.until)}`}`;
    case 'run.turn_ended':
      return `turn ${body.turn}${exit(body.exitCode)}`;
    case 'run.ended':
      return [
        `${shownStatus(body)}${exit(body.exitCode)}`,
        ...(body.durationMs === null ? [] : [duration(body.durationMs)]),
        ...(body.error ? [`${body.error.code}: ${body.error.message}`] : []),
      ].join(' · ');
    case 'inbox.asked':
      return `${body.item.id} ${body.item.kind}: ${visibleLine(body.item.question)}`;
    case 'inbox.settled':
      return `${body.item.id} ${body.item.state}${body.item.answer === null ? '' : ` with "${visibleLine(body.item.answer)}"`}: ${visibleLine(body.item.question)}`;
    case 'review.requested':
      return `round ${body.iteration} by ${body.reviewerId}, commit ${body.commit.slice(0, 12)}`;
    case 'review.closed':
      return `round ${body.iteration}: ${body.outcome.replaceAll('_', ' ')}${body.reason === null ? '' : `: ${body.reason}`}`;
    case 'review.limit_changed':
      return body.limit === null ? 'default' : `${body.limit} rounds`;
    case 'worktree.made':
      return `${body.branch} in ${body.path}`;
    case 'worktree.removed':
      return `${body.branch} in ${body.path}${body.savedRef === null ? '' : `, saved as ${body.savedRef}`}`;
    case 'worktree.kept':
      return `${body.path}: ${body.why}`;
    case 'pull_request.opened':
      return `#${body.number} ${body.url}`;
    case 'issues.created':
      return body.issues.map(({ number, title }) => `#${number} ${title}`).join(', ');
    case 'branch.integrated':
      return `${body.branch} into ${body.into}`;
    case 'tool.called':
      return `${body.tool}${body.client === null ? '' : ` by ${clientName(body.client)}`}${body.ok ? '' : `: ${body.code ?? 'failed'}`}${body.count === undefined ? '' : ` ×${body.count}`}`;
    case 'setting.changed':
      return `${body.key} = ${body.value ?? 'default'}`;
    case 'runs.pruned':
      return `${body.runs} runs, ${body.bytes} bytes`;
    default:
      body satisfies never;
      return '';
  }
}

/** When a run that waits for a usage limit continues, as text. */
export const limitTime = (until: number): string => `${new Date(until).toISOString().slice(0, 19)}Z`;

const DELIVERIES: Record<MessageDelivery, string> = {
  in_turn: 'delivered in turn',
  queued: 'queued',
  next_turn: 'delivered with the next turn',
  client: 'in the result',
  undelivered: 'undelivered: run ended',
};
export const deliveryText = (delivery: MessageDelivery): string => DELIVERIES[delivery];

function describeWoken({ turn, messages, children }: Extract<EventBody, { type: 'run.woken' }>): string {
  const by = [
    ...(children.length > 0 ? [`end of ${children.join(', ')}`] : []),
    ...(messages > 0 ? [messages === 1 ? '1 message' : `${messages} messages`] : []),
  ];
  return `turn ${turn}: ${by.join(', ')}`;
}

const queuedAs = ({ roleId, subagent }: { roleId: string | null; subagent?: string }) =>
  roleId ?? (subagent === undefined ? 'no role' : `subagent ${subagent}`);

const exit = (code: number | null) => (code === null ? '' : `, exit code ${code}`);

export function describeRestored({
  why,
  restored,
  updated,
  unrecorded,
  kept,
}: Omit<Extract<EventBody, { type: 'database.restored' }>, 'type'>): string {
  const runs = (count: number) => `${count} ${count === 1 ? 'run' : 'runs'}`;
  return [
    `${why}.`,
    `Restored from run folders: ${runs(restored)}; brought up to date: ${runs(updated)}.`,
    ...(unrecorded > 0 ? [`For ${runs(unrecorded)} only the output could be recovered.`] : []),
    ...(kept === null ? [] : [`The damaged file is kept as ${kept}.`]),
  ].join(' ');
}

/** Input or output of a tool as text: strings unchanged, other values as indented JSON. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
