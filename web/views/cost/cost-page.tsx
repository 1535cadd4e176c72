import '../views.css';
import './cost.css';
import type { Output } from '../../../src/operations/operations.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { useParam } from '../../state/url-state.ts';
import { workspace } from '../../state/workspace.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { plural, shownMoney } from '../../ui/figures.ts';
import { Section } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Money } from '../../ui/usage.tsx';
import { CostSheet, type Figures } from './cost-sheet.tsx';
import { DayChart } from './day-chart.tsx';
import { type Measure, standing } from './shares.ts';

type Report = Output<'cost_report'>;
const CHOICES = [7, 14, 30, 90, 365];

/** `/cost`: cost by day, role and squad, compared with the budgets. */
export function CostPage() {
  const [given, setDays] = useParam('days');
  const [by, setBy] = useParam('by');
  const measure: Measure = by === 'tokens' ? 'tokens' : 'cost';
  const days = CHOICES.find(choice => String(choice) === given) ?? 14;
  const input = { days, ...(workspace.value !== null && { workspace: workspace.value }) };
  const { data, error, reload } = useQuery('cost_report', input, { refreshOn });
  // Cost of all workspaces, because the daily budget covers all of them.
  const all = useQuery('cost_report', workspace.value === null ? null : { days: 1 }, { refreshOn });
  const today = workspace.value === null ? data : all.data;
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  return (
    <div class="cost">
      <header class="page-head">
        <h1>Cost</h1>
        <p class="soft">
          As reported by engines, or estimated from a price list. Unknown costs are not included in totals.
        </p>
        <p class="page-tools">
          <label>
            Last{' '}
            <select value={days} onChange={event => setDays(event.currentTarget.value)}>
              {CHOICES.map(choice => (
                <option key={choice} value={choice}>
                  {choice} days
                </option>
              ))}
            </select>
          </label>
          <span class="view-switch">
            <Button isPressed={measure === 'cost'} onClick={() => setBy(null)}>
              cost
            </Button>
            <Button isPressed={measure === 'tokens'} onClick={() => setBy('tokens')}>
              tokens
            </Button>
          </span>
          <Command text={`squad cost --days ${days}${workspace.value === null ? '' : ' --here'}`} />
        </p>
      </header>
      {today && today.total.runs > 0 && (
        <Today
          day={today.days.at(-1)!}
          here={workspace.value === null ? null : (data?.days.at(-1) ?? null)}
          budgets={today.budgets}
        />
      )}
      {data && <Shown report={data} isAll={workspace.value === null} measure={measure} />}
    </div>
  );
}

/** Costs change with starts, ends and budget warnings of runs. */
const refreshOn = ({ events }: Changes) =>
  events.some(({ body }) => /^(run\.(started|ended|turn_ended|budget)|setting\.changed)$/.test(body.type));

function Shown({ report, isAll, measure }: { report: Report; isAll: boolean; measure: Measure }) {
  const { days, roles, engines, models, workspaces, squads, budgets, total, unpriced } = report;
  if (total.runs === 0)
    return (
      <Empty title="No runs in this period" command={'squad run coder "Say hello"'}>
        Costs appear here once a run has started.
      </Empty>
    );
  const isGuessed = (list: readonly Figures[]) => list.some(({ isEstimated }) => isEstimated);
  return (
    <>
      <Section
        title={
          <>
            {' '}
            By day{' '}
            <span class="soft">
              <Money usd={total.costUsd} isEstimated={total.isEstimated} /> total
            </span>
          </>
        }
      >
        <DayChart days={days} measure={measure} budget={isAll ? budgets.dayUsd : null} />
        <CostSheet
          name="day"
          measure={measure}
          // The budget of a day covers all folders together.
          budget={isAll ? budgets.dayUsd : null}
          rows={[...days]
            .reverse()
            .map(day => ({ ...day, key: day.day, label: <span class="num">{day.day}</span> }))}
        />
      </Section>
      <Section title="By role">
        <CostSheet
          name="role"
          measure={measure}
          budget={null}
          rows={roles.map(role => ({
            ...role,
            key: JSON.stringify([role.roleId, role.subagent]),
            label: <RoleName role={role} />,
          }))}
        />
      </Section>
      <Section title="By engine">
        <CostSheet
          name="engine"
          measure={measure}
          budget={null}
          rows={engines.map(each => ({ ...each, key: each.engine, label: <PlainLine text={each.engine} /> }))}
        />
      </Section>
      <Section title="By model">
        <CostSheet
          name="model"
          measure={measure}
          budget={null}
          rows={models.map(each => ({
            ...each,
            key: each.model ?? '',
            label: each.model === null ? <span class="soft">unknown</span> : <PlainLine text={each.model} />,
          }))}
        />
      </Section>
      {isAll && workspaces.length > 1 && (
        <Section title="By workspace">
          <CostSheet
            name="workspace"
            measure={measure}
            budget={null}
            rows={workspaces.map(each => ({
              ...each,
              key: each.workspace,
              label: <PlainLine text={each.workspace} />,
            }))}
          />
        </Section>
      )}
      <Section title="By squad">
        <CostSheet
          name="squad"
          measure={measure}
          budget={budgets.squadUsd}
          rows={squads.map(squad => ({
            ...squad,
            key: squad.squadId,
            label: (
              <a href={`/s/${squad.squadId}`}>
                <PlainLine text={squad.title} />
              </a>
            ),
          }))}
        />
      </Section>
      {isGuessed([...days, ...roles]) && (
        <p class="soft">≈ is an estimate from a price list, for engines that report only tokens.</p>
      )}
      {unpriced.runs > 0 && (
        <p class="soft">
          No price is known for <PlainLine text={unpriced.models.join(', ')} />, so the cost of{' '}
          {plural(unpriced.runs, 'run')} is unknown. Add prices for later runs to <code>prices.json</code> in
          Squad’s home, or to the file of a subagent.
        </p>
      )}
    </>
  );
}

function RoleName({ role: { roleId, subagent } }: { role: Report['roles'][number] }) {
  if (roleId !== null) return <PlainLine text={roleId} />;
  if (subagent === null) return <span class="soft">no role</span>;
  return (
    <>
      <PlainLine text={subagent} /> <span class="soft">subagent</span>
    </>
  );
}

interface TodayProps {
  day: Figures;
  /** Share of the chosen folder. Null if all folders are shown. */
  here: Figures | null;
  budgets: Report['budgets'];
}

function Today({ day, here, budgets }: TodayProps) {
  const { costUsd: spent, isEstimated, runs, unreported } = day;
  const { state, share } = standing(spent, budgets.dayUsd);
  const tone = { none: '', under: 'tone-good', near: 'tone-ask', over: 'tone-bad' }[state];
  return (
    <section class="page-part cost-today">
      <h2>Today{here && ', in all workspaces'}</h2>
      <p>
        <b>
          <Money usd={spent} isEstimated={isEstimated} />
        </b>{' '}
        {budgets.dayUsd === null ? (
          <span class="soft">no budget set</span>
        ) : (
          <span class={tone}>
            of {shownMoney(budgets.dayUsd)}
            {state === 'over' && ': no more runs start today'}
            {state === 'near' && ': nearly used up'}
          </span>
        )}
      </p>
      {here && (
        <p class="soft">
          <Money usd={here.costUsd} isEstimated={here.isEstimated} /> of today’s cost is from this workspace.
        </p>
      )}
      {unreported > 0 && (
        <p class="tone-ask">
          Cost unknown for {unreported} of today’s {runs} runs
          {spent !== null && ': the total is higher'}.
        </p>
      )}
      {share !== null && (
        <meter
          low={0.8}
          high={0.99}
          optimum={0}
          min={0}
          max={1}
          value={Math.min(share, 1)}
          aria-label="Today’s spending against the day’s budget"
        />
      )}
      <p class="soft">
        Limits: {limit(budgets.runUsd)} per run, {limit(budgets.squadUsd)} per squad, {limit(budgets.dayUsd)}{' '}
        per day. <a href="/settings">Change limits</a>
      </p>
    </section>
  );
}

const limit = (usd: number | null) => (usd === null ? 'unlimited' : shownMoney(usd));
