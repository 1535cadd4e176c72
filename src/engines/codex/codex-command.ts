import type { RunEndpoint, TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { chatUuid } from '../chat-uuid.ts';
import { partOfArgument } from '../one-argument.ts';
import { refuseProjectCommands } from '../project-commands.ts';
import { codexPermissions } from './codex-permissions.ts';
import { codexProjectSettings } from './project-settings.ts';
import { RUN_SERVER } from './run-server.ts';
import { sandboxTemp } from './sandbox-temp.ts';
import { tomlString } from './toml-string.ts';
import { serversIn, userConfig } from './user-config.ts';

/** The variable Codex reads the run's token from: arguments are there for everyone to read. */
const TOKEN = 'SQUAD_TOKEN';

/** `resume` knows none of the flags, so it comes after them all. */
export async function codexCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  const config = userConfig(input.env);
  refuseProjectCommands(input.cwd, codexProjectSettings(config), input.worktree);
  const argv: Command['argv'] = [program, 'exec', '--json', '--skip-git-repo-check', ...QUIET];
  argv.push(...codexPermissions(options), `--cd=${input.cwd}`);
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.effort !== null) argv.push(...setting('model_reasoning_effort', tomlString(options.effort)));
  if (options.outputSchema)
    argv.push(
      `--output-schema=${await input.files.write('schema.json', JSON.stringify(options.outputSchema))}`,
    );
  for (const name of serversIn(config)) argv.push(...setting(`mcp_servers.${name}.enabled`, 'false'));
  if (endpoint) argv.push(...setting(`mcp_servers.${RUN_SERVER}`, server(endpoint)));
  if (input.continues && input.chatId !== null) argv.push('resume', chatUuid('Codex', input.chatId));
  argv.push('-');
  return {
    argv,
    stdin: input.promptFile,
    env: { ...input.env, ...sandboxTemp(input.env), ...(endpoint ? { [TOKEN]: endpoint.token } : {}) },
  };
}

const setting = (key: string, toml: string): string[] => ['-c', partOfArgument(key, `${key}=${toml}`)];

const QUIET = [
  ...setting('analytics.enabled', 'false'),
  ...setting('check_for_update_on_startup', 'false'),
  ...['--disable', 'plugins', '--disable', 'apps'],
];

/** Without a server's own approval mode, Codex refuses each call to it: nobody is there to be asked. */
const server = ({ url }: RunEndpoint): string =>
  `{url=${tomlString(url)},bearer_token_env_var="${TOKEN}",required=true,default_tools_approval_mode="approve"}`;
