import { visibleLine } from '../../base/text.ts';
import { homeFolder, pricesFile } from '../../link/home.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { formatCost, formatTokens } from './figures.ts';

type Report = Output<'cost_report'>;
type Cost = Report['total'];

interface CostOptions {
  days?: string;
  here?: boolean;
}

const MAX_SQUADS = 10;

/** `squad cost`: what runs have cost, by day, by role and by squad. */
export async function costCommand({ days, here }: CostOptions, context: CliContext): Promise<number> {
  const count = wholeNumber('--days', days ?? '14', 1, 366);
  const report = await HubClient.ask({ workspace: context.workspace }, 'cost_report', {
    days: count,
    ...(here && { workspace: workspaceRoot(context.workspace) }),
  });
  if (context.json) printJson(context.out, report);
  else print(context, lines(report, count, context));
  return EXIT.done;
}

function lines(report: Report, count: number, context: CliContext): string[] {
  const { days, roles, squads, total, budgets } = report;
  if (total.runs === 0)
    return [
      `No runs in the last ${count === 1 ? 'day' : `${count} days`}.`,
      'Start one: squad run ROLE "task"',
    ];
  const withRuns = days.filter(({ runs }) => runs > 0);
  const budget = budgets.dayUsd === null ? '' : ` of ${formatCost(budgets.dayUsd)} (budget.day_usd)`;
  return [
    ...table('day', [...withRuns.map(each => row(each.day, each)), row('together', total)], context),
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

/** Why sums are less than the truth. */
function missing({ total, unpriced }: Report): string[] {
  const silent = total.unreported - unpriced.runs;
  const words = (runs: number) =>
    `What ${runs === 1 ? 'one run' : `${runs} runs`} cost is not known, and in no sum:`;
  return [
    ...(silent > 0 ? [`${words(silent)} the engine did not say.`] : []),
    ...(unpriced.runs > 0
      ? [
          `${words(unpriced.runs)} the price list has no ${unpriced.models.map(visibleLine).join(', ')}.`,
          `Prices for later runs go into ${pricesFile(homeFolder(process.env))}, or into the file of a subagent.`,
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

/** What nobody said is not nothing. */
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
      { title: 'not known', align: 'right' },
    ],
    rows,
    out.columns,
    style,
  );

/** An amount of money given to an option. */
export function dollars(option: string, text: string): number {
  const amount = Number(text.replace(/^\$/, ''));
  if (text.trim() !== '' && Number.isFinite(amount) && amount > 0) return amount;
  throw new SquadError('INVALID_INPUT', `${option} ${text} is no amount above 0`, {
    suggestions: [`In US dollars: ${option} 0.50`],
  });
}
