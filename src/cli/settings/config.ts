import { visibleLine } from '../../base/text.ts';
import { userFilePath } from '../../workspace/settings/config-files.ts';
import { type CliContext, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';
import { inspect, ownEngineLines, settingOf } from './inspect.ts';

const INDENT = 10;

/** `squad config show`: every setting and where it comes from. */
export async function showConfig(context: CliContext): Promise<number> {
  const inspected = await inspect(context);
  const { out, style } = context;
  const userFile = userFilePath(process.env);
  const { root, settings, limits, ignored, rolesFolder, engine } = inspected;
  const rows = [...settings, ...limits].map(({ key, value, origin, source }) => [
    key,
    value === null ? style.dim('not set') : visibleLine(shown(key, value)),
    origin,
    style.dim(source),
  ]);
  const fact = (title: string, text: string, paint = (line: string) => line) =>
    wrap(visibleLine(text), out.columns - INDENT).map(
      (line, at) => `${at === 0 ? style.bold(title.padEnd(INDENT)) : ' '.repeat(INDENT)}${paint(line)}`,
    );
  return printResult(context, { root, userFile, settings, limits, ignored, rolesFolder, engine }, () => [
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
    ...ignored.flatMap(({ file, key, reason }) =>
      wrap(visibleLine(`ignored: ${key} in ${file}: ${reason}`), out.columns).map(style.yellow),
    ),
    ...ownEngineLines(settingOf(inspected, 'engines'), context),
    '',
    ...wrap(
      withOwnCommand(
        'Environment variables override the workspace (.squad/squad.json, templates/), which overrides the user file and then the defaults. To change a limit: squad config set KEY VALUE.',
      ),
      out.columns,
    ).map(style.dim),
  ]);
}

/** A value on one line. Engines are listed by name; their long commands follow below the table. */
function shown(key: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (key === 'engines') return Object.keys(value as object).join(', ') || 'none';
  return JSON.stringify(value);
}

/** `squad config set KEY VALUE`, `squad config unset KEY`: changes a setting of the hub. */
export async function setConfig(key: string, value: string | null, context: CliContext): Promise<number> {
  const changed = await HubClient.ask({}, 'change_setting', { key, value });
  return printResult(context, changed, () => [
    `${changed.key} is ${changed.value ?? 'not set'}${value === null ? ' (the default)' : ''}`,
  ]);
}
