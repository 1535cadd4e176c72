import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { tellNotes } from './decisions.ts';

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
  print(context, lines(team, context));
  return EXIT.done;
}

function lines({ members }: Team, { out, style }: CliContext): string[] {
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
