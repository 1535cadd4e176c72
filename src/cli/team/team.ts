import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

type Listed = Output<'list_decisions'>;
type Decision = Listed['decisions'][number];

interface DecisionsOptions {
  search?: string;
  limit?: string;
}

/** `squad decisions [ID]`: what the team has decided, newest first; or one of them, whole. */
export async function decisionsCommand(
  id: string | undefined,
  { search, limit }: DecisionsOptions,
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '20', 1, 1000);
  const listed = await HubClient.ask({ workspace: context.workspace }, 'list_decisions', {
    id,
    search,
    limit: most,
  });
  if (context.json) printJson(context.out, listed);
  else if (id !== undefined) print(context, whole(listed.decisions[0]!, context));
  else {
    tellNotes(listed.notes, context);
    print(context, decisionLines(listed, search, context));
  }
  return EXIT.done;
}

/** What is odd about the files goes beside the result. */
export function tellNotes(notes: readonly string[], { err, style }: CliContext): void {
  for (const line of notes.flatMap(note => wrap(visibleLine(note), err.columns)))
    err.write(`${style.yellow(line)}\n`);
}

function decisionLines(
  { decisions, total }: Listed,
  search: string | undefined,
  context: CliContext,
): string[] {
  const { style, out } = context;
  if (decisions.length === 0)
    return search === undefined
      ? [
          'No decisions yet.',
          style.dim(
            'They are `### Title` entries in .squad/decisions.md, and files in .squad/decisions/inbox/.',
          ),
        ]
      : [`No decision is about ${visibleLine(search).slice(0, 100)}.`];
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
    ...(more > 0 ? ['', style.dim(`${more} more: --limit ${Math.min(1000, total)} shows them.`)] : []),
  ];
}

function whole({ id, title, date, by, text, file, merged }: Decision, { style, out }: CliContext): string[] {
  return [
    ...wrap(style.bold(visibleLine(title)), out.columns),
    style.dim(
      [
        id,
        date ?? 'no date',
        by === null ? 'author not named' : visibleLine(by),
        `.squad/${visibleLine(file)}${merged ? '' : ' (not merged yet)'}`,
      ].join(' · '),
    ),
    '',
    ...wrap(visibleText(text), out.columns),
  ];
}

type Team = Output<'read_team'>;
type Member = Team['members'][number];

/** `squad team`: who is on the team, and who is at work. */
export async function teamCommand(context: CliContext): Promise<number> {
  const team = await HubClient.ask({ workspace: context.workspace }, 'read_team');
  if (context.json) {
    printJson(context.out, team);
    return EXIT.done;
  }
  tellNotes(team.notes, context);
  print(context, memberLines(team, context));
  return EXIT.done;
}

function memberLines({ members }: Team, { out, style }: CliContext): string[] {
  if (members.length === 0)
    return ['Nobody is on the team yet.', style.dim('`squad init` writes a .squad/team.md to start from.')];
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
  const words = [
    ...(running > 0 ? [style.bold(`${running} running`)] : []),
    ...(queued > 0 ? [style.dim(`${queued} queued`)] : []),
  ];
  return words.join(style.dim(' · ')) || style.dim('–');
}
