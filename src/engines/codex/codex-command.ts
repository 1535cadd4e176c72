import { isAbsolute, join, relative } from 'node:path';
import type { RunEndpoint, TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { asksUser, readsLines } from '../asks-user.ts';
import { chatUuid } from '../chat-uuid.ts';
import { partOfArgument } from '../one-argument.ts';
import { type ProjectSettings, refuseProjectCommands } from '../project-commands.ts';
import { codexPermissions, codexServerPermissions, mayDoAll } from './codex-permissions.ts';
import { hasRules, serversIn, trustedIn, userConfig } from './user-config.ts';

/** Codex reads the run's token from this variable, because every user can read arguments. */
const TOKEN = 'SQUAD_TOKEN';

/** The subcommands `resume` and `fork` do not accept these flags after them, so they come last. */
export async function codexCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint } = input;
  const config = userConfig(input.env);
  refuseProjectCommands(input.cwd, codexProjectSettings(config), input.worktree);
  const isFed = codexIsFed(input);
  const argv: Command['argv'] = isFed
    ? [program, 'app-server', ...QUIET, ...codexServerPermissions(options), ...questions(options)]
    : [program, 'exec', '--json', '--skip-git-repo-check', ...QUIET, ...execFlags(input)];
  if (options.effort !== null) argv.push(...setting('model_reasoning_effort', tomlString(options.effort)));
  if (options.outputSchema && !isFed)
    argv.push(
      `--output-schema=${await input.files.write('schema.json', JSON.stringify(options.outputSchema))}`,
    );
  for (const name of serversIn(config)) argv.push(...setting(`mcp_servers.${name}.enabled`, 'false'));
  if (endpoint) argv.push(...setting(`mcp_servers.${RUN_SERVER}`, server(endpoint)));
  // In a fed turn the driver names the chat, not the command line.
  const chat = input.continues ? input.chatId : input.options.forksChat;
  const verb = input.continues ? 'resume' : 'fork';
  const named = chat === null ? [] : [verb, chatUuid('Codex', chat)];
  if (!isFed) argv.push(...named, '-');
  return {
    argv,
    ...(isFed ? { stdin: null, isFed } : { stdin: input.promptFile }),
    env: { ...input.env, ...sandboxTemp(input.env), ...(endpoint ? { [TOKEN]: endpoint.token } : {}) },
  };
}

/**
 * True if Codex reads lines while it works. `codex app-server` cannot ignore `.rules` files, with which commands run
 * outside the sandbox. So if there are any, it is only used for runs that ask the user.
 */
const codexIsFed = ({ options, env, cwd }: TurnInput): true | undefined =>
  asksUser(options) ?? (mayDoAll(options) || !hasRules(env, cwd) ? readsLines(options) : undefined);

function execFlags({ options, cwd, model }: TurnInput): string[] {
  const flags = [...codexPermissions(options), `--cd=${cwd}`];
  if (model !== null) flags.push(`--model=${partOfArgument('model', model)}`);
  return flags;
}

const setting = (key: string, toml: string): string[] => ['-c', partOfArgument(key, `${key}=${toml}`)];

const QUIET = [
  ...setting('analytics.enabled', 'false'),
  ...setting('check_for_update_on_startup', 'false'),
  ...['--disable', 'plugins', '--disable', 'apps'],
];

/**
 * Offers the model the tool with which it asks the user. By default it has that tool only in plan mode, and Codex warns
 * about every setting that it does not call stable.
 */
const questions = (options: TurnInput['options']): string[] =>
  asksUser(options)
    ? [
        ...setting('features.default_mode_request_user_input', 'true'),
        ...setting('suppress_unstable_features_warning', 'true'),
      ]
    : [];

/** Without an approval mode for the server, Codex refuses every call to it, because it cannot ask anybody. */
const server = ({ url }: RunEndpoint): string =>
  `{url=${tomlString(url)},bearer_token_env_var="${TOKEN}",required=true,default_tools_approval_mode="approve"}`;

/** A TOML basic string. All escapes of JSON are valid in TOML, which also needs DEL escaped and forbids lone surrogates. */
export const tomlString = (value: string): string =>
  JSON.stringify(value.toWellFormed()).replaceAll('\u007f', '\\u007f');

/**
 * Codex keeps its sandbox helper in its home folder, unless that is below the temp folder. In that case every command
 * fails, and Codex does not report why. For such a home another temp folder is set.
 */
export function sandboxTemp(env: Record<string, string>): { TMPDIR?: string } {
  const home = env.CODEX_HOME || (env.HOME ? join(env.HOME, '.codex') : '');
  const temp = env.TMPDIR || '/tmp';
  if (!home || !isBelow(home, temp)) return {};
  const other = ['/var/tmp', '/tmp'].find(folder => !isBelow(home, folder));
  return other ? { TMPDIR: other } : {};
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/**
 * Finds project settings that run commands. Marking the folder as untrusted would disable the settings, but AGENTS.md
 * as well.
 */
export function codexProjectSettings(config: string): ProjectSettings {
  const trusted = trustedIn(config);
  return {
    cli: 'Codex',
    program: 'codex',
    files: ['.codex/config.toml', '.codex/hooks.json'],
    runsCommands: /^[ \t{[]*"?(mcp_servers|hooks|notify|model_provider|openai_base_url|chatgpt_base_url)/m,
    isTrusted: folder => trusted.includes(folder),
  };
}

/**
 * Name of the run's Squad server in Codex. It is not `squad`, because the user's own configuration uses that name,
 * and Codex would merge the two entries into a broken one.
 */
export const RUN_SERVER = 'squad_run';
