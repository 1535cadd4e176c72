import { visibleLine } from '../../base/text.ts';
import { homeFolder, pricesFile } from '../../link/home.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { workspaceFilter } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatTable } from '../terminal/table.ts';
import { formatCost, formatTokens } from './figures.ts';

type Report = Output<'cost_report'>;
type Cost = Report['total'];

const MAX_SQUADS = 10;

/** `squad cost`: cost by day, by role or subagent, and by squad. */
export async function costCommand(
  { days, here }: { days: number; here?: boolean },
  context: CliContext,
): Promise<number> {
  const report = await HubClient.ask({ workspace: context.workspace }, 'cost_report', {
    days,
    ...workspaceFilter(!here, context),
  });
  return printResult(context, report, () => lines(report, days, context));
}

function lines(report: Report, count: number, context: CliContext): string[] {
  const { days, roles, squads, total, budgets } = report;
  if (total.runs === 0)
    return [
      `No runs in the last ${count === 1 ? 'day' : `${count} days`}.`,
      withOwnCommand('Start one: squad run ROLE "TASK"'),
    ];
  const withRuns = days.filter(({ runs }) => runs > 0);
  const budget = budgets.dayUsd === null ? '' : ` of ${formatCost(budgets.dayUsd)} (budget.day_usd)`;
  return [
    ...table('day', [...withRuns.map(each => row(each.day, each)), row('total', total)], context),
    '',
    ...table(
      'role',
      roles.map(each => row(nameOf(each), each)),
      context,
    ),
    '',
    ...table(
      'squad',
      squads.slice(0, MAX_SQUADS).map(each => row(`${each.squadId}  ${each.title}`, each)),
      context,
    ),
    '',
    `Today: ${money(report.spentTodayUsd, days.at(-1)?.isEstimated)}${budget}`,
    ...missing(report).map(line => context.style.dim(line)),
  ];
}

const nameOf = ({ roleId, subagent }: Report['roles'][number]): string =>
  roleId ?? (subagent === null ? '(none)' : `${subagent} (subagent)`);

/** Explains which costs the totals do not include. */
function missing({ total, unpriced }: Report): string[] {
  const silent = total.unreported - unpriced.runs;
  const unknown = (runs: number, reason: string) =>
    `Cost unknown for ${runs === 1 ? '1 run' : `${runs} runs`} (not included in totals): ${reason}.`;
  return [
    ...(silent > 0 ? [unknown(silent, 'the engine did not report it')] : []),
    ...(unpriced.runs > 0
      ? [
          unknown(unpriced.runs, `the price list has no ${unpriced.models.map(visibleLine).join(', ')}`),
          `Add prices for later runs to ${pricesFile(homeFolder(process.env))}, or to the file of a subagent.`,
        ]
      : []),
  ];
}

const row = (name: string, cost: Cost): string[] => [
  visibleLine(name),
  money(cost.costUsd, cost.isEstimated),
  tokens(cost.inputTokens),
  tokens(cost.outputTokens),
  String(cost.runs),
  cost.unreported === 0 ? '' : String(cost.unreported),
];

/** Formats an amount of money. An unreported cost is shown as unknown, not as 0. */
const money = (usd: number | null, isEstimated?: boolean) =>
  usd === null ? 'unknown' : formatCost(usd, isEstimated);
const tokens = (count: number | null) => (count === null ? 'unknown' : formatTokens(count));

const table = (title: string, rows: string[][], { out, style }: CliContext): string[] =>
  formatTable(
    [
      { title, shrinkTo: 16 },
      { title: 'cost', align: 'right' },
      { title: 'in', align: 'right' },
      { title: 'out', align: 'right' },
      { title: 'runs', align: 'right' },
      { title: 'unknown', align: 'right' },
    ],
    rows,
    out.columns,
    style,
  );

/** Parses an amount of money. */
export function dollars(option: string, text: string): number {
  const amount = Number(text.replace(/^\$/, ''));
  if (text.trim() !== '' && Number.isFinite(amount) && amount > 0) return amount;
  throw new SquadError('INVALID_INPUT', `Invalid value for ${option}: ${JSON.stringify(text)}`, {
    suggestions: [`Use an amount in US dollars above 0, for example \`${option} 0.50\`.`],
  });
}
