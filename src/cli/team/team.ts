import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

type Listed = Output<'list_decisions'>;
type Decision = Listed['decisions'][number];

export interface DecisionsOptions {
  search?: string;
  limit: number;
}

/** `squad decisions [ID]`: lists decisions, newest first, or shows one. */
export async function decisionsCommand(
  id: string | undefined,
  { search, limit }: DecisionsOptions,
  context: CliContext,
): Promise<number> {
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_decisions', {
    id,
    search,
    limit,
  });
  if (id === undefined && !context.json) printNotes(context, listed.notes);
  return printResult(context, listed, () =>
    id === undefined ? tableLines(listed, search, context) : decisionLines(listed.decisions[0]!, context),
  );
}

function tableLines({ decisions, total }: Listed, search: string | undefined, context: CliContext): string[] {
  const { style, out } = context;
  if (decisions.length === 0)
    return search === undefined
      ? [
          'No decisions yet.',
          style.dim(
            'Decisions are `### Title` entries in .squad/decisions.md, and files in .squad/decisions/inbox/.',
          ),
        ]
      : [`No decisions match ${visibleLine(search).slice(0, 100)}.`];
  const more = total - decisions.length;
  const isAnyWaiting = decisions.some(({ merged }) => !merged);
  const table = formatTable(
    [
      { title: 'decision' },
      { title: 'date' },
      { title: 'by', shrinkTo: 8 },
      ...(isAnyWaiting ? [{ title: '' }] : []),
      { title: 'title', shrinkTo: 0 },
    ],
    decisions.map(({ id, date, by, merged, title }) => [
      id,
      date?.slice(0, 10) ?? '–',
      by === null ? '–' : style.role(by, visibleLine(by)),
      ...(isAnyWaiting ? [merged ? '' : style.yellow('inbox')] : []),
      visibleLine(title),
    ]),
    out.columns,
    style,
  );
  const [head, ...rows] = table;
  return [
    head!,
    ...rows.flatMap((row, at) => {
      const { snippet } = decisions[at]!;
      return snippet
        ? [row, ...wrap(visibleLine(snippet), out.columns - 4).map(line => style.dim(`    ${line}`))]
        : [row];
    }),
    ...(more > 0 ? ['', style.dim(`${more} more: --limit ${Math.min(1000, total)} lists them.`)] : []),
  ];
}

function decisionLines(
  { id, title, date, by, text, file, merged }: Decision,
  { style, out }: CliContext,
): string[] {
  return [
    ...wrap(style.bold(visibleLine(title)), out.columns),
    style.dim(
      [
        id,
        date ?? 'no date',
        by === null ? 'unknown author' : visibleLine(by),
        `.squad/${visibleLine(file)}${merged ? '' : ' (not merged yet)'}`,
      ].join(' · '),
    ),
    '',
    ...wrap(visibleText(text), out.columns),
  ];
}

type Team = Output<'read_team'>;
type Member = Team['members'][number];

/** `squad team`: lists the members of the team and their running work. */
export async function teamCommand(context: CliContext): Promise<number> {
  const team = await HubClient.ask({ workspace: context.workspace }, 'read_team');
  if (!context.json) printNotes(context, team.notes);
  return printResult(context, team, () => memberLines(team, context));
}

function memberLines({ members }: Team, { out, style }: CliContext): string[] {
  if (members.length === 0)
    return [
      'The team has no members yet.',
      style.dim(withOwnCommand('`squad init` creates a .squad/team.md to start from.')),
    ];
  const rows = members.map(member => [
    style.role(member.agent, visibleLine(member.name)),
    visibleLine(member.role ?? '–'),
    member.onRoster ? visibleLine(member.status ?? '–') : style.dim('not on the roster'),
    workOf(member, style),
  ]);
  return formatTable(
    [
      { title: 'name', shrinkTo: 8 },
      { title: 'role', shrinkTo: 8 },
      { title: 'status', shrinkTo: 8 },
      { title: 'now' },
    ],
    rows,
    out.columns,
    style,
  );
}

function workOf({ running, queued }: Member, style: CliContext['style']): string {
  const parts = [
    ...(running > 0 ? [style.bold(`${running} running`)] : []),
    ...(queued > 0 ? [style.dim(`${queued} queued`)] : []),
  ];
  return parts.join(style.dim(' · ')) || style.dim('–');
}
