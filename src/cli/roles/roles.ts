import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { inspect } from '../settings/inspect.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';

/** `squad roles`: the roles here, where they come from, and what is wrong with any of them. */
export async function rolesCommand(context: CliContext): Promise<number> {
  const { roles, rolesFolder } = await inspect(context);
  const { out, style } = context;
  const code = roles.some(role => role.fault) ? EXIT.failed : EXIT.done;
  if (context.json) {
    printJson(out, { folder: rolesFolder.folder, reason: rolesFolder.reason, roles });
    return code;
  }
  const rows = roles.map(role => [
    style.role(role.id, visibleLine(role.id)),
    visibleLine(role.name),
    role.fault ? style.red(visibleLine(role.fault)) : visibleLine(role.description),
  ]);
  print(context, [
    ...(rows.length > 0
      ? formatTable(
          [{ title: 'role' }, { title: 'name', shrinkTo: 8 }, { title: 'description', shrinkTo: 0 }],
          rows,
          out.columns,
          style,
        )
      : ['No roles there.']),
    ...roles.flatMap(role =>
      role.warnings.map(warning => style.yellow(`${visibleLine(role.id)}: ${visibleLine(warning)}`)),
    ),
    '',
    style.dim(`${rolesFolder.folder} (${rolesFolder.reason})`),
  ]);
  return code;
}

interface ContextOptions {
  engine?: string;
  files?: string;
  /** Only what an agent would read. */
  text?: boolean;
}

type Preview = Output<'preview_context'>;

/** `squad context [ROLE]`: what an agent would be told of the project, and what it costs. Nothing is started. */
export async function contextCommand(
  roleId: string | undefined,
  { engine, files, text }: ContextOptions,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  const input = { roleId, engine, files: files?.split(',').map(name => name.trim()) };
  const preview = await client.call('preview_context', input).finally(() => client.close());
  const notes = preview.notes.flatMap(note => wrap(visibleLine(note), context.err.columns));
  for (const line of notes) context.err.write(`${context.style.yellow(line)}\n`);
  if (context.json) printJson(context.out, { roleId: roleId ?? null, ...preview });
  else if (text) showText(preview, context);
  else print(context, lines(roleId, preview, context));
  return EXIT.done;
}

function showText({ context: found }: Preview, { out }: CliContext): void {
  const text = found?.text ?? '';
  if (text !== '') out.write(`${out.isTTY ? visibleText(text) : text}\n`);
}

function lines(
  roleId: string | undefined,
  { engine, context: found }: Preview,
  context: CliContext,
): string[] {
  const { style } = context;
  if (found === null)
    return [
      `Nothing: the role ${roleId} does not ask for context, so \`squad run\` and start_squad_members send none.`,
      style.dim(
        '`context: true` in its frontmatter asks for it. `squad context` without a role shows what the spawn tools send.',
      ),
    ];
  const { tokens, budgetTokens, parts, leftOut, text } = found;
  const whom = roleId === undefined ? 'a bare prompt, as the spawn tools give' : `the role ${roleId}`;
  return [
    `${style.bold(`${tokens} of ${budgetTokens} tokens`)} for ${visibleLine(whom)}, ${engine === null ? 'no engine' : `engine ${visibleLine(engine)}`}`,
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
