import { visibleLine } from '../../base/text.ts';
import type { Event, EventBody } from '../../schema/event.ts';
import type { StopReason } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { costOf, formatCost, formatUsage, tokensOf } from '../cost/figures.ts';
import { askLine, askWord, closedText, settledLine } from '../inbox/ask-text.ts';
import { outcomeWord } from '../review/review-table.ts';
import { formatClock, formatDuration } from '../terminal/duration.ts';
import { isFailure, paintStatus, QUIET_WORDS, statusText } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { displayWidth, padEnd, truncate } from '../terminal/width.ts';
import { whyCommand } from './next-step.ts';
import type { RunView } from './run-view.ts';

const CLOCK_WIDTH = 8;
const WORD_WIDTH = 9;
const MIN_REASON_LENGTH = 24;
const MAX_LABEL_LENGTH = 24;
const GAP = '  ';

const STOPPING: Record<StopReason, string> = {
  cancel: 'asked to stop',
  timeout: 'over its time limit',
  output_limit: 'over its output limit',
  budget: 'over its budget',
  stall: 'no sign of life',
  terminate: 'its review is done',
  abandon: 'its task was given up',
};

/** How wide the column of names has to be for these runs to stand in line. */
export const labelWidth = (runs: RunView[]): number =>
  Math.min(MAX_LABEL_LENGTH, Math.max(0, ...runs.map(run => displayWidth(run.label))));

/**
 * The line an event is worth in the scrollback, or null: most events only change the status block.
 * With `columns` a reason is cut so that its line, with what to type next, fits.
 */
export function eventToLine(
  event: Event,
  run: RunView | null,
  width: number,
  style: Style,
  columns = Number.POSITIVE_INFINITY,
): string | null {
  const { body } = event;
  const line = (name: string, word: string, detail: string) =>
    [style.dim(formatClock(event.at)), name, word, detail].join(GAP).trimEnd();
  const plain = (name: string, word: string, detail: string) =>
    line(padEnd(name, width), padEnd(word, WORD_WIDTH), detail);

  if (body.type === 'hub.stopped') return plain('hub', 'stopped', visibleLine(body.reason));
  if (body.type === 'hub.recovered') return plain('hub', 'recovered', recovery(body));
  if (!run) return null;

  const name = style.role(run.roleId, padEnd(truncate(run.label, width), width));
  const room = columns - width - CLOCK_WIDTH - WORD_WIDTH - 3 * GAP.length;
  const whole = `${run.engine} · ${run.id}`;
  const origin = style.dim(displayWidth(whole) <= room ? whole : run.id);
  switch (body.type) {
    case 'run.queued':
      return line(name, style.dim(padEnd('queued', WORD_WIDTH)), origin);
    case 'run.started':
      return line(
        name,
        padEnd('started', WORD_WIDTH),
        body.turn > 1 ? `${origin} · turn ${body.turn}` : origin,
      );
    case 'run.quiet':
      if (body.state === null) return line(name, padEnd('awake', WORD_WIDTH), 'gives signs again');
      return line(
        name,
        style.yellow(padEnd('quiet', WORD_WIDTH)),
        truncate(`${QUIET_WORDS[body.state]}: ${visibleLine(body.text)}`, Math.max(MIN_REASON_LENGTH, room)),
      );
    case 'run.budget':
      return line(
        name,
        style.yellow(padEnd('budget', WORD_WIDTH)),
        `${formatCost(body.spentUsd)} of ${formatCost(body.budgetUsd)} for the ${body.scope}`,
      );
    case 'run.stopping':
      return line(name, style.yellow(padEnd('stopping', WORD_WIDTH)), STOPPING[body.reason]);
    case 'inbox.asked':
      return line(
        name,
        style.yellow(padEnd(askWord(body.item), WORD_WIDTH)),
        askLine(body.item, room, style),
      );
    case 'inbox.settled':
      return line(name, padEnd(closedText(body.item), WORD_WIDTH), settledLine(body.item, room));
    case 'review.requested':
      return line(
        name,
        style.yellow(padEnd('in review', WORD_WIDTH)),
        `round ${body.iteration} · ${body.reviewerId}`,
      );
    case 'review.closed':
      return line(
        name,
        padEnd('reviewed', WORD_WIDTH),
        truncate(
          [outcomeWord(body.outcome, style), `round ${body.iteration}`, visibleLine(body.reason ?? '')]
            .filter(Boolean)
            .join(' · '),
          Math.max(MIN_REASON_LENGTH, room),
        ),
      );
    case 'pull_request.opened':
      return line(
        name,
        style.green(padEnd('proposed', WORD_WIDTH)),
        `#${body.number} ${visibleLine(body.url)}`,
      );
    case 'run.ended':
      return line(
        name,
        paintStatus(shownStatus(body), padEnd(statusText(shownStatus(body)), WORD_WIDTH), style),
        ending(run, columns - width, style),
      );
    default:
      return null;
  }
}

/** Why a run did not go well, in one line with the error's code; empty when it did. Of a long one the middle goes. */
export function reasonOf({ exitCode, error }: Pick<RunView, 'exitCode' | 'error'>, room = Infinity): string {
  const exit = exitCode === null || exitCode === 0 ? '' : `exit ${exitCode}`;
  if (!error) return exit;
  const code = `(${visibleLine(error.code)})`;
  const message = visibleLine(error.message);
  // Often the message is no more than that.
  const words = message.includes(`exit code ${exitCode}`) ? [message] : [exit, message];
  const reason = words.filter(part => part !== '').join(': ');
  return [truncate(reason, Math.max(0, room - code.length - 1)), code].filter(part => part !== '').join(' ');
}

function ending(run: RunView, columns: number, style: Style): string {
  if (isFailure(run.status)) {
    const room = columns - CLOCK_WIDTH - WORD_WIDTH - 3 * GAP.length;
    const next = `${whyCommand(run.engine)} ${run.id}`;
    const beside = room - next.length - GAP.length;
    // What to type next is in the summary too; the reason in full is nowhere else.
    if (displayWidth(reasonOf(run)) > Math.max(beside, MIN_REASON_LENGTH)) return reasonOf(run, room);
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
