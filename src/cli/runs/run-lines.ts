import { visibleLine } from '../../base/text.ts';
import type { Event, EventBody } from '../../schema/event.ts';
import type { StopReason } from '../../schema/run.ts';
import { deliveryText } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { costOf, formatCost, formatUsage, tokensOf } from '../cost/figures.ts';
import { askLine, askState, closedLine } from '../inbox/ask-text.ts';
import { outcomeText } from '../review/review-table.ts';
import { formatClock, formatDuration } from '../terminal/duration.ts';
import { isFailure, paintStatus, STALL_TEXT, statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { displayWidth, padEnd, truncate } from '../terminal/width.ts';
import { whyCommand } from './next-step.ts';
import type { RunView } from './run-view.ts';

const CLOCK_WIDTH = 8;
const STATE_WIDTH = 9;
const MIN_REASON_LENGTH = 24;
const MAX_LABEL_LENGTH = 24;
const GAP = '  ';

const STOPPING: Record<StopReason, string> = {
  cancel: 'cancelled',
  timeout: 'over its time limit',
  output_limit: 'over its output limit',
  budget: 'over its budget',
  stall: 'stalled',
  terminate: 'its review is done',
  abandon: 'its task was abandoned',
};

/** Width of the name column, enough for the names of these runs. */
export const labelWidth = (runs: RunView[]): number =>
  Math.min(MAX_LABEL_LENGTH, Math.max(0, ...runs.map(run => displayWidth(run.label))));

/**
 * Line for an event. Null for most events, which only change the status block. With `columns` a long reason is cut so
 * that the line, with the next command, fits.
 */
export function eventToLine(
  event: Event,
  run: RunView | null,
  width: number,
  style: Style,
  columns = Number.POSITIVE_INFINITY,
): string | null {
  const { body } = event;
  const name = run ? style.role(run.roleId, padEnd(truncate(run.label, width), width)) : padEnd('hub', width);
  const line = (state: string, detail: string, paint = (text: string) => text) =>
    [style.dim(formatClock(event.at)), name, paint(padEnd(state, STATE_WIDTH)), detail].join(GAP).trimEnd();
  if (body.type === 'hub.stopped') return line('stopped', visibleLine(body.reason));
  if (body.type === 'hub.recovered') return line('recovered', recovery(body));
  if (!run) return null;

  const room = columns - width - CLOCK_WIDTH - STATE_WIDTH - 3 * GAP.length;
  const cut = (text: string) => truncate(text, Math.max(MIN_REASON_LENGTH, room));
  const whole = `${run.engine} · ${run.id}`;
  const origin = style.dim(displayWidth(whole) <= room ? whole : run.id);
  switch (body.type) {
    case 'run.queued':
      return line('queued', origin, style.dim);
    case 'run.started':
      return line('started', body.turn > 1 ? `${origin} · turn ${body.turn}` : origin);
    case 'run.quiet':
      if (body.state === null) return line('awake', 'active again');
      return line('quiet', cut(`${STALL_TEXT[body.state]}: ${visibleLine(body.text)}`), style.yellow);
    case 'run.budget': {
      const spent = `${formatCost(body.spentUsd)} of ${formatCost(body.budgetUsd)} for the ${body.scope}`;
      return line('budget', spent, style.yellow);
    }
    case 'run.stopping':
      return line('stopping', STOPPING[body.reason], style.yellow);
    case 'run.told':
      return line(body.delivery === 'queued' ? 'queued' : 'told', cut(visibleLine(body.text)));
    case 'run.sent':
      return line('says', cut(`to ${body.to ?? 'you'}: ${visibleLine(body.text)}`));
    case 'run.receipt':
      return body.delivery === 'undelivered'
        ? line('missed', `message to ${body.to}: ${deliveryText(body.delivery)}`, style.yellow)
        : null;
    case 'run.limited':
      return line(
        'limited',
        body.until === null
          ? `${body.next} takes over`
          : `waits ${formatDuration(Math.max(0, body.until - event.at))}, until ${formatClock(body.until)}`,
        style.yellow,
      );
    case 'inbox.asked':
      return line(askState(body.item), askLine(body.item, room, style), style.yellow);
    case 'inbox.settled':
      return line(body.item.state, closedLine(body.item, room));
    case 'review.requested':
      return line('in review', `round ${body.iteration} · ${body.reviewerId}`, style.yellow);
    case 'review.closed': {
      const parts = [
        outcomeText(body.outcome, style),
        `round ${body.iteration}`,
        visibleLine(body.reason ?? ''),
      ];
      return line('reviewed', cut(parts.filter(Boolean).join(' · ')));
    }
    case 'pull_request.opened':
      return line('proposed', `#${body.number} ${visibleLine(body.url)}`, style.green);
    case 'run.ended': {
      const status = shownStatus(body);
      return line(statusText(status), ending(run, room, style), text => paintStatus(status, style, text));
    }
    default:
      return null;
  }
}

/** Why a run failed, in one line with the error code. Empty for a success. A long message is cut before the code. */
export function reasonOf({ exitCode, error }: Pick<RunView, 'exitCode' | 'error'>, room = Infinity): string {
  const exit = exitCode === null || exitCode === 0 ? '' : `exit ${exitCode}`;
  if (!error) return exit;
  const code = `(${visibleLine(error.code)})`;
  const message = visibleLine(error.message);
  // The exit code is not added if the message already contains it.
  const parts = message.includes(`exit code ${exitCode}`) ? [message] : [exit, message];
  const reason = parts.filter(part => part !== '').join(': ');
  return [truncate(reason, Math.max(0, room - code.length - 1)), code].filter(part => part !== '').join(' ');
}

function ending(run: RunView, room: number, style: Style): string {
  if (isFailure(run.status)) {
    const next = `${whyCommand(run.engine)} ${run.id}`;
    const left = room - next.length - GAP.length;
    // The next command is left out if there is no room: the summary repeats the command, but not the full reason.
    if (displayWidth(reasonOf(run)) > Math.max(left, MIN_REASON_LENGTH)) return reasonOf(run, room);
    return [reasonOf(run), style.dim(next)].filter(part => part !== '').join(GAP);
  }
  const tokens = { value: tokensOf(run.usage), isPartial: false };
  const cost = { ...costOf([run.usage]), isPartial: false };
  const took = run.durationMs === null ? [] : [formatDuration(run.durationMs)];
  return [...took, ...formatUsage(tokens, cost)].join(' · ');
}

function recovery({
  watched,
  ended,
  requeued,
  lost,
  from,
}: Extract<EventBody, { type: 'hub.recovered' }>): string {
  const counts = { 'still running': watched, 'ended meanwhile': ended, 'queued again': requeued, lost };
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const text = parts.map(([what, count]) => `${count} ${what}`).join(' · ') || 'nothing was running';
  return from === undefined ? text : `from ${visibleLine(from)}: ${text}`;
}
