import { visibleLine } from '../../base/text.ts';
import { userFilePath } from '../../workspace/settings/config-files.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { ownEngineLines } from '../setup/engine-lines.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';
import { inspect, settingOf } from './inspect.ts';

const INDENT = 10;

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
    value === null ? style.dim('not set') : visibleLine(shown(key, value)),
    origin,
    style.dim(source),
  ]);
  const { root, rolesFolder, engine } = inspected;
  const fact = (title: string, text: string, paint = (line: string) => line) =>
    wrap(visibleLine(text), out.columns - INDENT).map(
      (line, at) => `${at === 0 ? style.bold(title.padEnd(INDENT)) : ' '.repeat(INDENT)}${paint(line)}`,
    );
  print(context, [
    ...fact('Workspace', root),
    ...fact('Roles', `${rolesFolder.folder} (${rolesFolder.reason})`),
    ...(engine.id === null
      ? fact('Engine', engine.problem ?? 'none', style.yellow)
      : fact('Engine', engine.id)),
    ...[...engine.notes, ...engine.suggestions].flatMap(line => fact('', line)),
    ...fact('User file', userFile ?? 'none: HOME is not set'),
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
    ...inspected.ignored.flatMap(({ file, key, reason }) =>
      wrap(visibleLine(`ignored: ${key} in ${file}: ${reason}`), out.columns).map(style.yellow),
    ),
    ...ownEngineLines(settingOf(inspected, 'engines'), context),
    '',
    ...wrap(
      'Environment comes before the workspace (.squad/squad.json, templates/), then the user file, then defaults. Limits: squad config set KEY VALUE.',
      out.columns,
    ).map(style.dim),
  ]);
  return EXIT.done;
}

/** On one line: of engines only the names, because their commands are long and stand below the table. */
function shown(key: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (key === 'engines') return Object.keys(value as object).join(', ') || 'none';
  return JSON.stringify(value);
}

/** `squad config set KEY VALUE`, `squad config unset KEY`: the hub's own settings. */
export async function setConfig(key: string, value: string | null, context: CliContext): Promise<number> {
  const changed = await HubClient.ask({}, 'change_setting', { key, value });
  if (context.json) printJson(context.out, changed);
  else
    print(context, [
      `${changed.key} is ${changed.value ?? 'not set'}${value === null ? ' (the default)' : ''}`,
    ]);
  return EXIT.done;
}
