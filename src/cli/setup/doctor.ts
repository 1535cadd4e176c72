import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { visibleLine } from '../../base/text.ts';
import { environmentFilePath, parseEnvironmentFile } from '../../link/environment-file.ts';
import { homeFolder, ownFolder } from '../../link/home.ts';
import { version } from '../../link/program.ts';
import { asSquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { mcpConfigPath, readMcpConfig } from '../../workspace/gateway/mcp-config-file.ts';
import { judgeConfig } from '../../workspace/gateway/mcp-configs.ts';
import { hookFault } from '../../workspace/settings/config-files.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { otherVersions, withOwnCommand } from '../own-command.ts';
import { squadProgram, squadScript } from '../package-files.ts';
import {
  engineLines,
  engineReports,
  type Inspected,
  inspect,
  ownEngineLines,
  settingOf,
  whyThisEngine,
} from '../settings/inspect.ts';
import { printJson } from '../terminal/json.ts';
import { wrap } from '../terminal/width.ts';
import { clientNamed } from './install/clients.ts';
import { lostInstalls } from './install/plan.ts';
import { mixupsIn } from './other-squad.ts';

interface Check {
  name: string;
  state: 'ok' | 'warning' | 'failed';
  detail: string;
  next: string[];
}

const LITTLE_SPACE = 1024 ** 3;

/** `squad doctor`: checks everything that runs depend on, with a fix for each problem. Exit code 1 if a check failed. */
export async function doctorCommand(context: CliContext): Promise<number> {
  const homeCheck = await check('home', home);
  const hubCheck = await check('hub', hub);
  // The hub inspects the workspace and finds agent CLIs.
  const hubIsThere = hubCheck.state !== 'failed';
  const [ofWorkspace, found] = await Promise.all([
    hubIsThere ? workspace(context) : { checks: [], inspected: null },
    hubIsThere ? engineReports(context).catch(thrown => bad('engines', thrown)) : [],
  ]);
  const clis = Array.isArray(found) ? found : [];
  const root = () => workspaceRoot(context.workspace);
  const checks = [
    ok('node', `${process.version} at ${process.execPath}`),
    homeCheck,
    await check('env', savedEnvironment),
    hubCheck,
    ...(hubIsThere ? [await check('database', database)] : []),
    ...ofWorkspace.checks,
    ...(Array.isArray(found) ? [] : [found]),
    ...(hubIsThere && !ofWorkspace.inspected ? noEngine(clis) : []),
    await program('git', ['--version'], 'failed', 'Install git: work trees, diffs and reviews need it.'),
    await program('tmux', ['-V'], 'warning', 'Optional: install tmux to watch runs in a tmux window.'),
    ...olderOrNewer(),
    ...mixupsIn(root).map(({ what, next }) => warning('squad', what, [next])),
    ...(ofWorkspace.inspected ? claudeTwice(root()) : []),
    ...overwrittenEntries(),
    await check('sandbox', sandbox),
    await check('processes', processes),
  ];
  const failed = checks.some(({ state }) => state === 'failed');
  const own = ofWorkspace.inspected ? settingOf(ofWorkspace.inspected, 'engines') : undefined;
  if (context.json)
    printJson(context.out, { ok: !failed, checks, engines: clis, ownEngines: own?.value ?? {} });
  else
    print(context, [
      ...checks.flatMap(result => lines(result, context)),
      ...engineLines(clis, context),
      ...ownEngineLines(own, context),
    ]);
  return failed ? EXIT.failed : EXIT.done;
}

function home(): Check {
  const folder = homeFolder(process.env);
  ownFolder(folder);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const detail = `${folder}, ${(free / 1e9).toFixed(1)} GB free`;
  return free < LITTLE_SPACE
    ? warning('home', detail, ['Free some disk space; `squad prune` deletes old runs.'])
    : ok('home', detail);
}

/** Checks the environment file, for agents of clients that pass on almost no variables. */
function savedEnvironment(): Check {
  const file = environmentFilePath(homeFolder(process.env));
  if (!existsSync(file)) return ok('env', `${file} does not exist yet; \`squad install\` creates it`);
  const names = Object.keys(parseEnvironmentFile(readFileSync(file, 'utf8'), file));
  return ok('env', `${file}, ${names.length} ${names.length === 1 ? 'variable' : 'variables'}`);
}

async function hub(): Promise<Check> {
  const status = await HubClient.ask({}, 'hub_status');
  const detail = `version ${status.version}, pid ${status.pid}, database ${status.database}`;
  if (status.url !== null) return ok('hub', `${detail}, ${status.url}`);
  return warning('hub', `${detail}, no HTTP`, [
    'Agents cannot call Squad and HTTP clients cannot connect. `squad hub log` shows why.',
  ]);
}

/** Reports what was restored since the hub started, and where damaged databases are kept. */
async function database(): Promise<Check> {
  const status = await HubClient.ask({}, 'hub_status');
  const folder = dirname(status.database);
  const start = `${basename(status.database)}.damaged-`;
  // A PostgreSQL database has a URL instead of a file, and `squad doctor` never replaces it.
  const names = isAbsolute(status.database) ? readdirSync(folder) : [];
  const kept = names.filter(name => name.startsWith(start) && /Z$/.test(name));
  if (kept.length === 0 && (status.restored ?? null) === null) return ok('database', status.database);
  return warning(
    'database',
    status.restored ?? `was damaged and rebuilt; kept: ${kept.join(', ')}`,
    kept.map(
      name =>
        `${join(folder, name)} is a damaged database that was replaced. Delete it if nothing is missing.`,
    ),
  );
}

async function workspace(context: CliContext): Promise<{ checks: Check[]; inspected: Inspected | null }> {
  try {
    const inspected = await inspect(context);
    const { root, roles, rolesFolder, engine, ignored } = inspected;
    const faulty = roles.filter(role => role.fault);
    const odd = roles.flatMap(role => role.warnings.map(warning => `${role.id}: ${warning}`));
    const checks: Check[] = [
      ok('workspace', root),
      {
        name: 'roles',
        state: faulty.length > 0 || roles.length === 0 ? 'failed' : odd.length > 0 ? 'warning' : 'ok',
        detail: `${roles.length} in ${rolesFolder.folder} (${rolesFolder.reason})`,
        next: [...faulty.map(role => `${role.file}: ${role.fault}`), ...odd],
      },
      engine.problem === null
        ? { ...ok('engine', `${engine.id}${whyThisEngine(inspected)}`), next: engine.notes }
        : { name: 'engine', state: 'failed', detail: engine.problem, next: engine.suggestions },
      ...ignored.map(({ file, key, reason }) =>
        warning('trust', `${key} in ${file} is ignored: ${reason}`, [
          'Read the file, then run `squad trust`.',
        ]),
      ),
      ...(await otherServers(root)),
      ...hookOf(inspected, 'onEnd'),
      ...hookOf(inspected, 'onAsk'),
    ];
    return { checks, inspected };
  } catch (thrown) {
    const refused = bad('workspace', thrown);
    // New users run the doctor in any folder, often their home folder, where no run is planned. A refusal is then only
    // a warning.
    const isNamed = Boolean(context.workspace ?? process.env.SQUAD_WORKSPACE);
    return { checks: [isNamed ? refused : { ...refused, state: 'warning' }], inspected: null };
  }
}

/** Without a workspace, whose settings choose the engine, only a machine without any agent CLI is worth a warning. */
function noEngine(clis: Awaited<ReturnType<typeof engineReports>>): Check[] {
  const isSet = process.env.ENGINE_COMMAND || process.env.RUN_TEMPLATE;
  if (isSet || clis.length === 0 || clis.some(({ program }) => program !== null)) return [];
  return [
    warning('engine', 'no agent CLI was found', [
      'Install one of those below, or choose a model by API key: `squad config set engine native`.',
    ]),
  ];
}

/** Checks the MCP configuration of the workspace. Empty if there is none. */
async function otherServers(root: string): Promise<Check[]> {
  const read = await readMcpConfig(root);
  const before = { config: null, text: null };
  const { state, file, config, warnings } = await judgeConfig(
    homeFolder(process.env),
    mcpConfigPath(root),
    read,
    before,
  );
  const count = Object.keys(config?.servers ?? {}).length;
  if (state === 'none' || (count === 0 && warnings.length === 0)) return [];
  const detail = `${count} active, ${file}`;
  const worst = warnings.length === 0 ? 'ok' : state === 'invalid' ? 'failed' : 'warning';
  return [{ name: 'servers', state: worst, detail, next: warnings }];
}

/** A hook runs in the background, where a missing program would go unnoticed. */
function hookOf(inspected: Inspected, name: 'onEnd' | 'onAsk'): Check[] {
  const setting = settingOf(inspected, name);
  if (!setting?.value) return [];
  const argv = setting.value as string[];
  const fault = hookFault(argv, inspected.root, process.env.PATH ?? '');
  if (fault === null) return [ok(name, argv.join(' '))];
  return [warning(name, fault, [`It is set in ${setting.source}. Use an absolute path.`])];
}

/** Reports programs on PATH that start another version of Squad than the one that runs now. */
function olderOrNewer(): Check[] {
  const others = otherVersions(version, process.env.PATH);
  if (others.length === 0) return [];
  const list = others.map(other => `${other.version} (${other.program})`).join(', ');
  return [
    warning('versions', `This is Squad ${version} (${squadScript}); PATH also has ${list}`, [
      'They share runs and settings. The newest one that was used runs the hub, and an older command uses that hub. To remove one: `npm uninstall -g squad-mcp` with the Node that it belongs to, then `squad install CLIENT` again for each client.',
    ]),
  ];
}

function overwrittenEntries(): Check[] {
  return lostInstalls(join(homeFolder(process.env), 'install')).map(({ client, file }) =>
    warning(
      'install',
      `${file} has no entry for Squad, which \`squad install ${shellWord(client)}\` had written`,
      [
        `A client that was open may have overwritten it: close ${client}, then run \`squad install ${shellWord(client)}\` again. If you removed it: \`squad install ${shellWord(client)} --undo\`.`,
      ],
    ),
  );
}

/** Warns if several plugins or entries start Squad: Claude Code then lists every tool several times. */
function claudeTwice(root: string): Check[] {
  const home = homedir();
  const { userFiles, projectFiles, format, entryPath } = clientNamed('claude-code');
  const settings = [
    join(process.env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
    ...['settings.json', 'settings.local.json'].map(name => join(root, '.claude', name)),
  ];
  const plugins = new Set(settings.flatMap(enabledPlugins).filter(id => id.startsWith('squad@')));
  const configs = [
    ...userFiles({ home, env: process.env, platform: process.platform, program: squadProgram() }),
    ...projectFiles.map(name => join(root, name)),
  ];
  // Claude Code uses only one of several entries with the same name.
  const entry = configs.find(file => hasEntry(file, text => format.fields(text, entryPath) !== null));
  const places = [...[...plugins].map(id => `the plugin ${id}`), ...(entry ? [`the entry in ${entry}`] : [])];
  if (places.length < 2) return [];
  return [
    warning('claude', `Claude Code has Squad more than once: ${places.join(', ')}`, [
      `Keep one. \`claude plugin uninstall ${[...plugins].at(-1)}\` removes a plugin${entry ? ', `squad install claude-code --undo` the entry' : ''}.`,
    ]),
  ];
}

/** Plugins that a settings file enables. Empty if the file cannot be read, because Claude Code itself reports that. */
function enabledPlugins(file: string): string[] {
  try {
    const { enabledPlugins: enabled = {} } = JSON.parse(readFileSync(file, 'utf8'));
    return Object.keys(enabled).filter(id => enabled[id] === true);
  } catch {
    return [];
  }
}

function hasEntry(file: string, isIn: (text: string) => boolean): boolean {
  try {
    return isIn(readFileSync(file, 'utf8'));
  } catch {
    return false; // the file is missing or not a configuration
  }
}

const VERSION_TIMEOUT_MS = 10_000;

async function program(
  name: string,
  args: string[],
  ifMissing: 'failed' | 'warning',
  next: string,
): Promise<Check> {
  try {
    const { stdout } = await promisify(execFile)(name, args, {
      timeout: VERSION_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    return ok(name, stdout.trim());
  } catch {
    return { name, state: ifMissing, detail: 'not found', next: [next] };
  }
}

/** Checks for a sandbox. Without one, runs in work trees are not sandboxed, and subagents have no code mode. */
async function sandbox(): Promise<Check> {
  const { findSandbox } = await import('../../code-mode/sandbox.ts');
  const found = await findSandbox(process.env);
  if ('missing' in found) return warning('sandbox', found.missing, found.suggestions);
  return ok('sandbox', `${found.bubblewrap} works: agents can be sandboxed, and subagents can use code mode`);
}

function processes(): Check {
  if (existsSync('/proc/self/environ'))
    return ok(
      'processes',
      'child processes of agents are found by process group, session, parent, their tag in /proc and their open output; a daemon that drops all of these can outlive its run',
    );
  return warning(
    'processes',
    'no /proc: child processes of agents are found by parent and process group only',
    ['A program that changes both can outlive its run.'],
  );
}

async function check(name: string, run: () => Check | Promise<Check>): Promise<Check> {
  try {
    return await run();
  } catch (thrown) {
    return bad(name, thrown);
  }
}

const ok = (name: string, detail: string): Check => ({ name, state: 'ok', detail, next: [] });

const warning = (name: string, detail: string, next: string[]): Check => ({
  name,
  state: 'warning',
  detail,
  next,
});

function bad(name: string, thrown: unknown): Check {
  const { code, message, suggestions } = asSquadError(thrown);
  return { name, state: 'failed', detail: `${code}: ${message}`, next: suggestions };
}

const INDENT = 20;

function lines({ name, state, detail, next }: Check, { style, out }: CliContext): string[] {
  const mark = { ok: style.green('ok     '), warning: style.yellow('warning'), failed: style.red('failed ') }[
    state
  ];
  const folded = (text: string) => wrap(visibleLine(withOwnCommand(text)), out.columns - INDENT);
  const [first = '', ...rest] = folded(detail);
  const more = [...rest, ...next.flatMap(folded).map(style.dim)];
  return [`${mark}  ${name.padEnd(9)}  ${first}`, ...more.map(line => `${' '.repeat(INDENT)}${line}`)];
}
