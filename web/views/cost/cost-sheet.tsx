import type { ComponentChildren } from 'preact';
import type { Output } from '../../../src/operations/operations.ts';
import { shownMoney } from '../../ui/figures.ts';
import { Sheet } from '../../ui/layout.tsx';
import { Money, Tokens } from '../../ui/usage.tsx';
import { amountOf, describeUnreported, type Measure, sharesOf } from './shares.ts';

/** Usage of a group of runs. */
export type Figures = Pick<
  Output<'cost_report'>['days'][number],
  'costUsd' | 'isEstimated' | 'inputTokens' | 'outputTokens' | 'runs' | 'unreported'
>;

interface CostSheetProps {
  name: string;
  budget: number | null;
  measure?: Measure;
  rows: (Figures & { key: string; label: ComponentChildren })[];
}

/** Usage table with a bar per row, relative to the highest amount or the budget. */
export function CostSheet({ name, budget: limit, measure = 'cost', rows }: CostSheetProps) {
  const budget = measure === 'cost' ? limit : null;
  const { bars, line } = sharesOf(
    rows.map(row => amountOf(row, measure)),
    budget,
  );
  return (
    <Sheet
      columns={[
        name,
        {
          class: 'cost-bar',
          name:
            line === null ? (
              <span class="unseen">share</span>
            ) : (
              `│ marks the budget, ${shownMoney(budget ?? 0)}`
            ),
        },
        '#cost',
        '#tokens',
        '#runs',
        'unknown cost',
      ]}
    >
      {rows.map((row, index) => (
        <tr key={row.key} class={row.runs === 0 ? 'without-runs' : ''}>
          <td class="wide">{row.label}</td>
          <td class="wide cost-bar">
            <Bar share={bars[index] ?? null} line={line} />
          </td>
          <td class="num">
            {row.runs === 0 ? (
              <span class="faint">–</span>
            ) : (
              <Money usd={row.costUsd} isEstimated={row.isEstimated} />
            )}
          </td>
          <td class="num" data-name="tokens">
            {row.runs === 0 ? <span class="faint">–</span> : <Tokens usage={usageOf(row)} />}
          </td>
          <td class="num" data-name="runs">
            {row.runs}
          </td>
          <td class="soft">{describeUnreported(row.unreported, row.runs)}</td>
        </tr>
      ))}
    </Sheet>
  );
}

/** Bar of an amount. The part above the budget is thinner, so that it can be seen without colour. */
function Bar({ share, line }: { share: number | null; line: number | null }) {
  const under = Math.min(share ?? 0, line ?? 1);
  return (
    <svg class="bar-box" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-under" x={0} y={1} width={under * 1000} height={8} />
      {share !== null && line !== null && share > line && (
        <rect class="bar-over" x={line * 1000} y={3} width={(share - line) * 1000} height={4} />
      )}
      {line !== null && <rect class="bar-line" x={Math.min(line * 1000, 996)} y={0} width={4} height={10} />}
    </svg>
  );
}

const usageOf = ({ inputTokens, outputTokens, costUsd, isEstimated }: Figures) => ({
  ...{ input: inputTokens, output: outputTokens, cached: null, costUsd },
  costIsEstimated: isEstimated,
});
