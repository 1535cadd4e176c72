import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { chatUuid } from '../chat-uuid.ts';
import { partOfArgument } from '../one-argument.ts';
import { refuseProjectCommands } from '../project-commands.ts';
import { qwenProjectSettings, trustWithFork } from './project-settings.ts';
import { PROJECTS_PATH_FILE, projectsPath } from './qwen-chat-file.ts';
import { qwenPermissions } from './qwen-permissions.ts';

/** The prompt comes on standard input. */
export async function qwenCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  refuseProjectCommands(input.cwd, qwenProjectSettings(input.env), input.worktree);
  const argv: Command['argv'] = [program, '--output-format=stream-json', ...qwenPermissions(options)];
  // Only this server, of all that are configured, is started: what an agent can reach is Squad's decision.
  argv.push(`--allowed-mcp-server-names=${SQUAD_SERVER}`);
  if (endpoint) argv.push(`--mcp-config=${await input.files.write('mcp.json', mcpConfig(endpoint))}`);
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.outputSchema)
    argv.push(
      `--json-schema=@${await input.files.write('schema.json', JSON.stringify(options.outputSchema))}`,
    );
  if (input.chatId !== null)
    argv.push(`--${input.continues ? 'resume' : 'session-id'}=${chatUuid('Qwen Code', input.chatId)}`);
  await input.files.write(PROJECTS_PATH_FILE, projectsPath(input.env));
  const defaults = await input.files.write('settings.json', JSON.stringify(DEFAULTS));
  const trust = trustWithFork(input.cwd, input.env, input.worktree);
  return {
    argv,
    stdin: input.promptFile,
    env: {
      ...{ QWEN_CODE_SYSTEM_DEFAULTS_PATH: defaults, ...input.env, ...QUIET },
      ...(trust && {
        QWEN_CODE_TRUSTED_FOLDERS_PATH: await input.files.write('trusted-folders.json', trust),
      }),
    },
  };
}

const QUIET = {
  QWEN_USAGE_STATISTICS_ENABLED: 'false',
  // One process instead of two.
  QWEN_CODE_NO_RELAUNCH: '1',
};

/** Weaker than the user's own settings. */
const DEFAULTS = {
  general: { enableAutoUpdate: false },
  // An agent of its own after each turn, which costs tokens nobody asked for and writes files.
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  // Left alone it waits minutes between tries, for an hour. Seven tries within some 80 seconds it makes in any case.
  model: { generationConfig: { maxRetries: 0 } },
  // Otherwise the model has to search for Squad's tools before it can call them.
  tools: { toolSearch: { enabled: false } },
};

/** Its HTTP client was never tried with a token; the relay is a program like any other. */
const mcpConfig = ({ relay }: RunEndpoint): string =>
  JSON.stringify({ mcpServers: { [SQUAD_SERVER]: { ...relay, trust: true } } });
