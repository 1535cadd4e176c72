import type { Output } from '../../../src/operations/operations.ts';
import { plural, shownCount, shownMoney } from '../../ui/figures.ts';
import { amountOf, type Measure, sharesOf } from './shares.ts';

type Day = Output<'cost_report'>['days'][number];

interface DayChartProps {
  days: readonly Day[];
  measure: Measure;
  budget: number | null;
}

/** Bar chart with one bar per day and a line for the daily budget. The table below the chart has the same figures. */
export function DayChart({ days, measure, budget }: DayChartProps) {
  const amounts = days.map(day => amountOf(day, measure));
  const limit = measure === 'cost' ? budget : null;
  const { bars, line } = sharesOf(amounts, limit);
  const shown = (amount: number | null) =>
    amount === null ? 'unknown' : measure === 'cost' ? shownMoney(amount) : `${shownCount(amount)} tokens`;
  const most = Math.max(limit ?? 0, ...amounts.map(amount => amount ?? 0));
  return (
    <figure class="day-chart">
      <figcaption class="unseen">{measure === 'cost' ? 'Cost' : 'Tokens'} of each day</figcaption>
      <p class="day-most soft" aria-hidden="true">
        {most > 0 ? shown(most) : 'nothing reported'}
      </p>
      <div class="day-box">
        {line !== null && (
          <span class="day-line" style={{ '--share': line }} title={`Budget of a day: ${shown(limit)}`} />
        )}
        <ol>
          {days.map(({ day, runs }, at) => (
            <li key={day} title={`${day}: ${shown(amounts[at]!)}, ${plural(runs, 'run')}`}>
              <span class="unseen">
                {day}: {shown(amounts[at]!)}
              </span>
              <span
                class={`day-bar ${line !== null && (bars[at] ?? 0) > line ? 'is-over' : ''}`}
                style={{ '--share': bars[at] ?? 0 }}
              />
            </li>
          ))}
        </ol>
      </div>
      <p class="day-axis soft" aria-hidden="true">
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </p>
    </figure>
  );
}
