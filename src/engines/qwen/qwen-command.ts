import { join } from 'node:path';
import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { stateEnvironment } from '../../core/runs/turn-sandbox.ts';
import { chatUuid, forkedChat } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { type Fields, fieldsOf } from '../json-line.ts';
import { partOfArgument } from '../one-argument.ts';
import { type ProjectSettings, refuseProjectCommands, upwards } from '../project-commands.ts';
import { readText } from '../read-text.ts';
import { addressesIn, filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';
import { type Fork, twinOf } from '../worktree-twin.ts';
import { PROJECTS_PATH_FILE, projectsPath } from './qwen-chat-file.ts';
import { qwenIsFed, qwenPermissions } from './qwen-permissions.ts';

/** The prompt is passed on standard input. */
export async function qwenCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  const hasNoRelay = options.sandbox.level !== 'off' || options.machine !== null;
  refuseProjectCommands(input.cwd, qwenProjectSettings(input.env), input.worktree);
  const isFed = qwenIsFed(options);
  const argv: Command['argv'] = [program, '--output-format=stream-json', ...qwenPermissions(options)];
  if (isFed) argv.push('--input-format=stream-json');
  // Only Squad's MCP server is started, because Squad decides what an agent can reach.
  argv.push(`--allowed-mcp-server-names=${SQUAD_SERVER}`);
  if (endpoint)
    argv.push(`--mcp-config=${await input.files.write('mcp.json', mcpConfig(endpoint, hasNoRelay))}`);
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.outputSchema)
    argv.push(
      `--json-schema=@${await input.files.write('schema.json', JSON.stringify(options.outputSchema))}`,
    );
  const forked = forkedChat(input);
  // Qwen Code chooses the id of a fork, and reports it.
  if (forked !== null) argv.push(`--resume=${chatUuid('Qwen Code', forked)}`, '--fork-session');
  else if (input.chatId !== null)
    argv.push(`--${input.continues ? 'resume' : 'session-id'}=${chatUuid('Qwen Code', input.chatId)}`);
  await input.files.write(PROJECTS_PATH_FILE, projectsPath(stateEnvironment(input)));
  const defaults = await input.files.write('settings.json', JSON.stringify(DEFAULTS));
  const trust = trustWithFork(input.cwd, input.env, input.worktree);
  return {
    argv,
    ...(isFed ? { stdin: null, isFed } : { stdin: input.promptFile }),
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
  // Makes Qwen Code start one process instead of two.
  QWEN_CODE_NO_RELAUNCH: '1',
};

/** Default settings, which the user's own settings override. */
const DEFAULTS = {
  general: { enableAutoUpdate: false },
  // Disables an extra agent after each turn, which costs tokens and writes files.
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  // By default Qwen Code retries for an hour with minutes in between. Even with 0 it makes seven attempts within
  // about 80 seconds.
  model: { generationConfig: { maxRetries: 0 } },
  // With tool search the model would have to search for Squad's tools first.
  tools: { toolSearch: { enabled: false } },
};

/** The relay survives a restart of the hub, but inside a sandbox or on another machine it cannot reach the hub. */
function mcpConfig({ relay, url, token }: RunEndpoint, hasNoRelay: boolean): string {
  const server = hasNoRelay ? { httpUrl: url, headers: { Authorization: `Bearer ${token}` } } : relay;
  return JSON.stringify({ mcpServers: { [SQUAD_SERVER]: { ...server, trust: true } } });
}

export const qwenSandbox: CliProfile['sandbox'] = ({ env }) => {
  const inside = join(homeOf(env), '.qwen');
  const folder = env.QWEN_HOME || inside;
  return {
    login: filesOf(folder, inside, [
      'oauth_creds.json',
      'settings.json',
      '.env',
      'trustedFolders.json',
      'QWEN.md',
    ]),
    drops: ['QWEN_HOME', 'QWEN_RUNTIME_DIR', 'QWEN_SANDBOX'],
    hosts: [
      ...['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'dashscope-us.aliyuncs.com'],
      ...['*.dashscope.aliyuncs.com', '*.maas.aliyuncs.com'],
      // Host that renews the login.
      'chat.qwen.ai',
      ...(env.OPENAI_API_KEY && !env.OPENAI_BASE_URL ? ['api.openai.com'] : []),
      ...hostsIn([
        ...[env.OPENAI_BASE_URL, env.ANTHROPIC_BASE_URL, env.GEMINI_BASE_URL, env.DASHSCOPE_BASE_URL],
        ...addressesIn(readText(join(folder, 'settings.json'))),
      ]),
    ],
  };
};

export function qwenProjectSettings(env: Record<string, string>): ProjectSettings {
  const levels = usersLevels(env);
  return {
    cli: 'Qwen Code',
    program: 'qwen',
    files: ['.qwen/settings.json'],
    runsCommands: /"(hooks|discoveryCommand|callCommand)"\s*:/,
    isTrusted: folder => levels[folder] === 'TRUST_FOLDER',
  };
}

/**
 * The user's trusted folders, plus the run's work tree if the checkout that it was forked from is trusted. With
 * folder trust enabled, Qwen Code would otherwise have neither a shell nor Squad's tools, because it cannot ask about
 * the work tree. Null if there is nothing to add.
 */
export function trustWithFork(cwd: string, env: Record<string, string>, fork: Fork): string | null {
  const twin = twinOf(cwd, fork);
  if (!fork || twin === null || !upwards(twin).some(qwenProjectSettings(env).isTrusted)) return null;
  return JSON.stringify({ ...usersLevels(env), [fork.path]: 'TRUST_FOLDER' });
}

function usersLevels(env: Record<string, string>): Fields {
  const home = env.QWEN_HOME || join(env.HOME || '/', '.qwen');
  const file = env.QWEN_CODE_TRUSTED_FOLDERS_PATH || join(home, 'trustedFolders.json');
  return fieldsOf(readText(file)) ?? {};
}
