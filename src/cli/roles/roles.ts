import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { inspect } from '../settings/inspect.ts';
import { formatTable } from '../terminal/table.ts';

/** `squad roles`: lists the roles, their folder, and the errors in their files. */
export async function rolesCommand(context: CliContext): Promise<number> {
  const { roles, rolesFolder } = await inspect(context);
  const { out, style } = context;
  const { folder, reason } = rolesFolder;
  const rows = roles.map(role => [
    style.role(role.id, visibleLine(role.id)),
    visibleLine(role.name),
    role.fault ? style.red(visibleLine(role.fault)) : visibleLine(role.description),
  ]);
  printResult(context, { folder, reason, roles }, () => [
    ...(rows.length > 0
      ? formatTable(
          [{ title: 'role' }, { title: 'name', shrinkTo: 8 }, { title: 'description', shrinkTo: 0 }],
          rows,
          out.columns,
          style,
        )
      : ['No roles.']),
    ...roles.flatMap(role =>
      role.warnings.map(warning => style.yellow(`${visibleLine(role.id)}: ${visibleLine(warning)}`)),
    ),
    '',
    style.dim(`${folder} (${reason})`),
  ]);
  return roles.some(role => role.fault) ? EXIT.failed : EXIT.done;
}

interface ContextOptions {
  engine?: string;
  files?: string;
  text?: boolean;
}

type Preview = Output<'preview_context'>;

/** `squad context [ROLE]`: previews the project context of an agent, and its size. Starts nothing. */
export async function contextCommand(
  roleId: string | undefined,
  { engine, files, text }: ContextOptions,
  context: CliContext,
): Promise<number> {
  const input = { roleId, engine, files: files?.split(',').map(name => name.trim()) };
  const preview = await HubClient.ask({ workspace: context.workspace }, 'preview_context', input);
  printNotes(context, preview.notes);
  if (context.json || !text)
    return printResult(context, { roleId: roleId ?? null, ...preview }, () =>
      lines(roleId, preview, context),
    );
  const { out } = context;
  const sent = preview.context?.text ?? '';
  if (sent !== '') out.write(`${out.isTTY ? visibleText(sent) : sent}\n`);
  return EXIT.done;
}

function lines(
  roleId: string | undefined,
  { engine, context: found }: Preview,
  context: CliContext,
): string[] {
  const { style } = context;
  if (found === null)
    return [
      withOwnCommand(
        `No context: the role ${roleId} does not ask for any, so \`squad run\` and start_squad_members send none.`,
      ),
      style.dim(
        withOwnCommand(
          'Set `context: true` in its frontmatter to send context. `squad context` without a role shows what the spawn tools send.',
        ),
      ),
    ];
  const { tokens, budgetTokens, parts, leftOut, text } = found;
  const recipient = roleId === undefined ? 'a plain prompt of the spawn tools' : `the role ${roleId}`;
  return [
    `${style.bold(`${tokens} of ${budgetTokens} tokens`)} for ${visibleLine(recipient)}, ${engine === null ? 'no engine' : `engine ${visibleLine(engine)}`}`,
    ...(parts.length > 0 ? ['', ...partsTable(parts, context)] : []),
    ...(leftOut.length > 0
      ? [
          '',
          'Left out',
          ...leftOut.map(({ file, reason }) => `  ${visibleLine(file)}: ${visibleLine(reason)}`),
        ]
      : []),
    ...(parts.length + leftOut.length === 0
      ? [style.dim('The workspace has none of PRD.md, PLAN.md, CLAUDE.md, AGENTS.md and ARCHITECTURE.md.')]
      : []),
    ...(text === '' ? [] : ['', visibleText(text)]),
  ];
}

const partsTable = (parts: NonNullable<Preview['context']>['parts'], { out, style }: CliContext): string[] =>
  formatTable(
    [{ title: 'file', shrinkTo: 12 }, { title: 'how' }, { title: 'tokens', align: 'right' }, { title: '' }],
    parts.map(({ file, how, tokens, cut }) => [
      visibleLine(file),
      how,
      String(tokens),
      cut ? 'cut to fit' : '',
    ]),
    out.columns,
    style,
  );
