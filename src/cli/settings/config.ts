import { nearest, visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { HubSettings, UserFile } from '../../schema/config.ts';
import { CLI_IDS, cliNamed } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { changeUserFile, changeWorkspaceFile } from '../../workspace/settings/change-config.ts';
import { userFilePath } from '../../workspace/settings/config-files.ts';
import { refuseAgents } from '../arguments.ts';
import { type CliContext, print, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { printJson } from '../terminal/json.ts';
import { formatTable } from '../terminal/table.ts';
import { wrap } from '../terminal/width.ts';
import { type Inspected, inspect, ownEngineLines, settingOf } from './inspect.ts';
import { offerTrust } from './trust.ts';

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
        'Environment variables override the workspace (.squad/squad.json, templates/), which overrides the user file and then the defaults. To change a setting: squad config set KEY VALUE.',
      ),
      out.columns,
    ).map(style.dim),
  ]);
}

/** Formats a value on one line. Engines are listed by name, and their long commands follow below the table. */
function shown(key: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (key === 'engines') return Object.keys(value as object).join(', ') || 'none';
  return JSON.stringify(value);
}

export interface WhereOptions {
  user?: boolean;
  project?: boolean;
}

/** `squad config set KEY VALUE`, `squad config unset KEY`: changes a limit of the hub, or a setting in a file. */
export async function setConfig(
  key: string,
  words: string[] | null,
  options: WhereOptions,
  context: CliContext,
): Promise<number> {
  if (isLimit(key)) return setLimit(key, words, options, context);
  const [name = '', ...rest] = key.split('.');
  if (!FILE_KEYS.includes(name)) throw unknownKey(key);
  if (options.user && options.project)
    throw new SquadError('INVALID_INPUT', '--user and --project cannot be combined', {
      suggestions: ['Use --user for your own config file, or --project for .squad/squad.json.'],
    });
  await refuseAgents();
  // An error here is ignored for the user's own file, which needs no workspace.
  const look = () => inspect(context).catch(thrown => (options.project ? Promise.reject(thrown) : null));
  const before = await look();
  if (key === 'engine' && words) refuseUnknownEngine(words.join(' '), before);
  const home = homeFolder(process.env);
  const change = { path: [name, ...rest], words };
  const changed =
    options.project && before
      ? await changeWorkspaceFile(home, before.root, change)
      : await changeUserFile(home, ownFile(), change);
  if (!changed.isTrusted) await offerTrust([changed.file], context);
  printResult(context, { key, value: changed.value ?? null, file: changed.file }, () => [
    words === null
      ? `${key} is not set in ${visibleLine(changed.file)}`
      : `${key} is ${visibleLine(shown(name, changed.value))} in ${visibleLine(changed.file)}`,
  ]);
  const after = await look();
  if (after && words) printNotes(context, remarks(name, changed.file, after));
  return EXIT.done;
}

/** Explains why the new value has no effect here. */
function remarks(name: string, file: string, after: Inspected): string[] {
  if (after.ignored.some(each => each.file === file && each.key === name))
    return [`${file} is not trusted, so ${name} has no effect yet: squad trust`];
  const setting = settingOf(after, name);
  if (!setting || setting.source === file || setting.origin === 'default') return [];
  return [`Here ${name} is ${shown(name, setting.value)}, because ${setting.source} comes first.`];
}

const FILE_KEYS: readonly string[] = Object.keys(UserFile.shape).filter(key => key !== '$schema');
const LIMITS: readonly string[] = Object.keys(HubSettings.shape);
export const CONFIG_KEYS: readonly string[] = [...FILE_KEYS, ...LIMITS];

const isLimit = (key: string): boolean => LIMITS.includes(key);

async function setLimit(
  key: string,
  words: string[] | null,
  { user, project }: WhereOptions,
  context: CliContext,
): Promise<number> {
  if (user || project)
    throw new SquadError(
      'INVALID_INPUT',
      `${key} is a limit of the hub, which is not stored in a config file`,
      {
        suggestions: ['Leave out --user and --project.'],
      },
    );
  const changed = await HubClient.ask({}, 'change_setting', { key, value: words?.join(' ') ?? null });
  return printResult(context, changed, () => [
    `${changed.key} is ${changed.value ?? 'not set'}${words ? ', for every workspace (stored by the hub)' : ' (the default)'}`,
  ]);
}

/** `squad config get KEY`: prints one value, for scripts. */
export async function getConfig(key: string, context: CliContext): Promise<number> {
  const { settings, limits } = await inspect(context);
  const [name = '', ...rest] = isLimit(key) ? [key] : key.split('.');
  const setting = [...settings, ...limits].find(each => each.key === name);
  if (!setting) throw unknownKey(key);
  const value = rest.reduce<unknown>(
    (inner, part) => (inner as Record<string, unknown> | null | undefined)?.[part],
    setting.value,
  );
  const { origin, source } = setting;
  if (context.json) printJson(context.out, { key, value: value ?? null, origin, source });
  else if (value === null || value === undefined) context.err.write(`${visibleLine(key)} is not set\n`);
  else print(context, [visibleLine(typeof value === 'string' ? value : JSON.stringify(value))]);
  return value === null || value === undefined ? EXIT.failed : EXIT.done;
}

function ownFile(): string {
  const file = userFilePath(process.env);
  if (file !== null) return file;
  throw new SquadError('CONFIG_INVALID', 'Your own config file cannot be found: HOME is not set', {
    suggestions: ['Set HOME or XDG_CONFIG_HOME, or use --project.'],
  });
}

const unknownKey = (key: string): SquadError =>
  new SquadError('CONFIG_INVALID', `There is no setting ${visibleLine(key)}`, {
    suggestions: [
      ...didYouMean(nearest(key, CONFIG_KEYS)),
      `Settings: ${FILE_KEYS.join(', ')}. Limits: ${LIMITS.join(', ')}.`,
    ],
  });

const didYouMean = (near: string[]): string[] =>
  near.length === 0 ? [] : [`Did you mean ${near.join(' or ')}?`];

/** Throws for an unknown engine. With a run template, any name is valid. */
function refuseUnknownEngine(name: string, inspected: Inspected | null): void {
  const configured = (key: string) => (inspected && settingOf(inspected, key)?.value) ?? null;
  const own = Object.keys(configured('engines') ?? {});
  const known = [...CLI_IDS, 'native', 'scripted', ...own];
  if (known.includes(name) || cliNamed(name) !== null || configured('runTemplate') !== null) return;
  throw new SquadError('ENGINE_UNKNOWN', `There is no engine ${visibleLine(name)}. Nothing was written.`, {
    suggestions: [...didYouMean(nearest(name, known)), `Engines: ${known.join(', ')}.`],
  });
}
