import { visibleLine } from '../../base/visible-text.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { inspect } from '../settings/inspect.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';

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
