import { userFilePath } from '../../workspace/config-files.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { inspect } from '../inspect.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';
import { formatTable } from '../output/table.ts';

/** `squad config show`: every value in force and the one place it came from. */
export async function showConfig(context: CliContext): Promise<number> {
  const inspected = await inspect(context);
  const { out, style } = context;
  const userFile = userFilePath(process.env);
  if (context.json) {
    const { root, settings, limits, ignored, rolesFolder, engine } = inspected;
    printJson(out, { root, userFile, settings, limits, ignored, rolesFolder, engine });
    return EXIT.done;
  }
  const rows = [...inspected.settings, ...inspected.limits].map(({ key, value, origin, source }) => [
    key,
    value === null
      ? style.dim('not set')
      : oneLine(typeof value === 'string' ? value : JSON.stringify(value)),
    origin,
    style.dim(source),
  ]);
  print(context, [
    `${style.bold('Workspace')} ${inspected.root}`,
    `${style.bold('Roles')}     ${inspected.rolesFolder.folder} ${style.dim(`(${inspected.rolesFolder.reason})`)}`,
    `${style.bold('Engine')}    ${inspected.engine.id ?? style.yellow(oneLine(inspected.engine.problem ?? 'none'))}`,
    ...[...inspected.engine.notes, ...inspected.engine.suggestions].map(line => `          ${oneLine(line)}`),
    `${style.bold('User file')} ${userFile ?? style.dim('none: HOME is not set')}`,
    '',
    ...formatTable(
      [
        { title: 'setting' },
        { title: 'value', shrinkTo: 12 },
        { title: 'from' },
        { title: 'where', shrinkTo: 0 },
      ],
      rows,
      out.columns,
      style,
    ),
    ...inspected.ignored.map(({ file, key, reason }) =>
      style.yellow(`ignored: ${key} in ${file}: ${reason}`),
    ),
    '',
    style.dim(
      'Environment comes before the workspace (.squad/squad.json, templates/), then the user file, then defaults. Limits: squad config set KEY VALUE.',
    ),
  ]);
  return EXIT.done;
}

/** `squad config set KEY VALUE`, `squad config unset KEY`: the hub's own settings. */
export async function setConfig(key: string, value: string | null, context: CliContext): Promise<number> {
  const client = await HubClient.start();
  const changed = await client
    .call<{ key: string; value: unknown }>('change_setting', { key, value })
    .finally(() => client.close());
  if (context.json) printJson(context.out, changed);
  else
    print(context, [
      `${changed.key} is ${changed.value ?? 'not set'}${value === null ? ' (the default)' : ''}`,
    ]);
  return EXIT.done;
}
