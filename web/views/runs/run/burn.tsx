import { card } from '../../../state/live.ts';
import { shownCount, shownMoney } from '../../../ui/figures.ts';
import { Section } from '../../../ui/layout.tsx';
import { Money, Tokens } from '../../../ui/usage.tsx';
import { BurnCurve } from './burn-curve.tsx';
import { Fact } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** Shows tokens by kind and over time, and the cost against the run's budget. Updated while the run is running. */
export function Burn({ data: { run } }: { data: ShownRun }) {
  const usage = card(run.id).value?.usage ?? run.usage;
  const { budgetUsd, stopAtBudget } = run.options;
  const spent = usage?.costUsd ?? null;
  const parts = [
    { name: 'fresh input', count: fresh(usage?.input ?? null, usage?.cached ?? null) },
    { name: 'cached input', count: usage?.cached ?? null },
    { name: 'output', count: usage?.output ?? null },
  ].filter((part): part is { name: string; count: number } => (part.count ?? 0) > 0);
  const all = parts.reduce((sum, { count }) => sum + count, 0);
  return (
    <Section title="Tokens and cost">
      <dl>
        <Fact name="Tokens">
          <Tokens usage={usage} />
          {all > 0 && (
            <>
              <span class="burn" aria-hidden="true">
                {parts.map(({ name, count }) => (
                  <span
                    key={name}
                    class={`burn-part burn-${name.replace(' ', '-')}`}
                    style={{ '--share': count / all }}
                  />
                ))}
              </span>
              <span class="soft">
                {parts.map(({ name, count }) => `${name} ${shownCount(count)}`).join(' · ')}
              </span>
              <BurnCurve run={run} measure="tokens" total={all} budget={null} shown={inTokens} />
            </>
          )}
        </Fact>
        <Fact name="Cost">
          <Money usd={spent} isEstimated={usage?.costIsEstimated} />
          {budgetUsd === null ? (
            <span class="soft"> no budget for this run</span>
          ) : (
            <>
              <span class="soft">
                {' '}
                of {shownMoney(budgetUsd)}
                {stopAtBudget ? ', then it is stopped' : ', then it is reported'}
              </span>
              <meter
                class="burn-meter"
                low={0.8}
                high={0.99}
                optimum={0}
                min={0}
                max={1}
                value={Math.min((spent ?? 0) / budgetUsd, 1)}
                aria-label="Cost against the budget of this run"
              />
            </>
          )}
          {spent !== null && spent > 0 && (
            <BurnCurve run={run} measure="costUsd" total={spent} budget={budgetUsd} shown={shownMoney} />
          )}
        </Fact>
      </dl>
    </Section>
  );
}

const inTokens = (count: number): string => `${shownCount(count)} tokens`;

const fresh = (input: number | null, cached: number | null): number | null =>
  input === null ? null : Math.max(0, input - (cached ?? 0));
