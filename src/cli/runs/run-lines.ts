import { visibleLine } from '../../base/text.ts';
import type { Event, EventBody } from '../../schema/event.ts';
import type { StopReason } from '../../schema/run.ts';
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

/** Width of the name column for these runs. */
export const labelWidth = (runs: RunView[]): number =>
  Math.min(MAX_LABEL_LENGTH, Math.max(0, ...runs.map(run => displayWidth(run.label))));

/**
 * Line for an event, or null: most events only change the status block.
 * With `columns` a long reason is cut so that the line, with the next command, fits.
 */
export function eventToLine(
  event: Event,
  run: RunView | null,
  width: number,
  style: Style,
  columns = Number.POSITIVE_INFINITY,
): string | null {
  const { body } = event;
  const line = (name: string, state: string, detail: string) =>
    [style.dim(formatClock(event.at)), name, state, detail].join(GAP).trimEnd();
  const plain = (name: string, state: string, detail: string) =>
    line(padEnd(name, width), padEnd(state, STATE_WIDTH), detail);

  if (body.type === 'hub.stopped') return plain('hub', 'stopped', visibleLine(body.reason));
  if (body.type === 'hub.recovered') return plain('hub', 'recovered', recovery(body));
  if (!run) return null;

  const name = style.role(run.roleId, padEnd(truncate(run.label, width), width));
  const room = columns - width - CLOCK_WIDTH - STATE_WIDTH - 3 * GAP.length;
  const whole = `${run.engine} · ${run.id}`;
  const origin = style.dim(displayWidth(whole) <= room ? whole : run.id);
  switch (body.type) {
    case 'run.queued':
      return line(name, style.dim(padEnd('queued', STATE_WIDTH)), origin);
    case 'run.started':
      return line(
        name,
        padEnd('started', STATE_WIDTH),
        body.turn > 1 ? `${origin} · turn ${body.turn}` : origin,
      );
    case 'run.quiet':
      if (body.state === null) return line(name, padEnd('awake', STATE_WIDTH), 'active again');
      return line(
        name,
        style.yellow(padEnd('quiet', STATE_WIDTH)),
        truncate(`${STALL_TEXT[body.state]}: ${visibleLine(body.text)}`, Math.max(MIN_REASON_LENGTH, room)),
      );
    case 'run.budget':
      return line(
        name,
        style.yellow(padEnd('budget', STATE_WIDTH)),
        `${formatCost(body.spentUsd)} of ${formatCost(body.budgetUsd)} for the ${body.scope}`,
      );
    case 'run.stopping':
      return line(name, style.yellow(padEnd('stopping', STATE_WIDTH)), STOPPING[body.reason]);
    case 'inbox.asked':
      return line(
        name,
        style.yellow(padEnd(askState(body.item), STATE_WIDTH)),
        askLine(body.item, room, style),
      );
    case 'inbox.settled':
      return line(name, padEnd(body.item.state, STATE_WIDTH), closedLine(body.item, room));
    case 'review.requested':
      return line(
        name,
        style.yellow(padEnd('in review', STATE_WIDTH)),
        `round ${body.iteration} · ${body.reviewerId}`,
      );
    case 'review.closed':
      return line(
        name,
        padEnd('reviewed', STATE_WIDTH),
        truncate(
          [outcomeText(body.outcome, style), `round ${body.iteration}`, visibleLine(body.reason ?? '')]
            .filter(Boolean)
            .join(' · '),
          Math.max(MIN_REASON_LENGTH, room),
        ),
      );
    case 'pull_request.opened':
      return line(
        name,
        style.green(padEnd('proposed', STATE_WIDTH)),
        `#${body.number} ${visibleLine(body.url)}`,
      );
    case 'run.ended':
      return line(
        name,
        paintStatus(shownStatus(body), style, padEnd(statusText(shownStatus(body)), STATE_WIDTH)),
        ending(run, columns - width, style),
      );
    default:
      return null;
  }
}

/** Why a run failed, in one line with the error code; empty for a success. A long message is cut before the code. */
export function reasonOf({ exitCode, error }: Pick<RunView, 'exitCode' | 'error'>, room = Infinity): string {
  const exit = exitCode === null || exitCode === 0 ? '' : `exit ${exitCode}`;
  if (!error) return exit;
  const code = `(${visibleLine(error.code)})`;
  const message = visibleLine(error.message);
  // Many messages already name the exit code.
  const parts = message.includes(`exit code ${exitCode}`) ? [message] : [exit, message];
  const reason = parts.filter(part => part !== '').join(': ');
  return [truncate(reason, Math.max(0, room - code.length - 1)), code].filter(part => part !== '').join(' ');
}

function ending(run: RunView, columns: number, style: Style): string {
  if (isFailure(run.status)) {
    const room = columns - CLOCK_WIDTH - STATE_WIDTH - 3 * GAP.length;
    const next = `${whyCommand(run.engine)} ${run.id}`;
    const left = room - next.length - GAP.length;
    // The summary repeats the next command; the full reason stands nowhere else.
    if (displayWidth(reasonOf(run)) > Math.max(left, MIN_REASON_LENGTH)) return reasonOf(run, room);
    return [reasonOf(run), style.dim(next)].filter(part => part !== '').join(GAP);
  }
  const tokens = { value: tokensOf(run.usage), isPartial: false };
  const cost = { ...costOf([run.usage]), isPartial: false };
  const took = run.durationMs === null ? [] : [formatDuration(run.durationMs)];
  return [...took, ...formatUsage(tokens, cost)].join(' · ');
}

function recovery({ watched, ended, requeued, lost }: Extract<EventBody, { type: 'hub.recovered' }>): string {
  const counts = { 'still running': watched, 'ended meanwhile': ended, 'queued again': requeued, lost };
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.map(([what, count]) => `${count} ${what}`).join(' · ') || 'nothing was running';
}
