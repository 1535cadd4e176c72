import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { fields, fieldsOf } from '../json-line.ts';
import { partOfArgument } from '../one-argument.ts';
import { homeOf, hostsIn } from '../sandbox-needs.ts';
import { toolFlags } from './copilot-tools.ts';

/** The reader takes the token counts from this file. */
export const USAGE_FILE = 'usage.json';

export async function copilotCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { files, options, model, chatId, continues, endpoint, env } = input;
  const servers = endpoint && (await files.write('mcp.json', serversFile(endpoint)));
  // Our server replaces one with the same name.
  const off = (name: string) => (servers && name === SQUAD_SERVER ? [] : ['--disable-mcp-server', name]);
  return {
    argv: [
      program,
      ...['--output-format', 'json', '--no-color', '--no-ask-user'],
      ...['--no-auto-update', '--disable-client-telemetry', '--no-remote'],
      ...['--disable-builtin-mcps', ...usersServers(env).flatMap(off)],
      ...(servers === null ? [] : ['--additional-mcp-config', `@${servers}`]),
      ...toolFlags(options),
      ...['--usage-output-file', files.path(USAGE_FILE)],
      ...(model === null ? [] : [`--model=${partOfArgument('model', model)}`]),
      ...(options.effort === null ? [] : [`--reasoning-effort=${partOfArgument('effort', options.effort)}`]),
      ...(chatId === null
        ? []
        : continues
          ? [`--resume=${chatUuid('Copilot CLI', chatId)}`]
          : ['--session-id', chatUuid('Copilot CLI', chatId)]),
    ],
    stdin: input.promptFile,
    env: withoutClassicTokens(env),
  };
}

/** Copilot CLI ends at once if it sees such a token, even if it could log in otherwise. */
const withoutClassicTokens = (env: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => !(/^(GH|GITHUB)_TOKEN$/.test(name) && value.startsWith('ghp_')),
    ),
  );

const serversFile = ({ url, token }: RunEndpoint): string =>
  JSON.stringify({
    mcpServers: {
      [SQUAD_SERVER]: {
        type: 'http',
        url,
        headers: { Authorization: `Bearer ${token}` },
        tools: ['*'],
      },
    },
  });

/** The user's own servers, which can only be disabled by name. */
function usersServers(env: Record<string, string>): string[] {
  try {
    const config = fieldsOf(readFileSync(join(copilotHome(env), 'mcp-config.json'), 'utf8'));
    return Object.keys(fields(config?.mcpServers)).filter(name => !name.startsWith('-'));
  } catch {
    return []; // none configured
  }
}

export const copilotHome = (env: Record<string, string>): string =>
  env.COPILOT_HOME || join(env.HOME || '/', '.copilot');

/** It replaces its configuration at every start, which a mounted file does not allow. */
export const copilotSandbox: CliProfile['sandbox'] = ({ env }) => ({
  login: [
    {
      from: join(copilotHome(env), 'config.json'),
      path: join(homeOf(env), '.copilot/config.json'),
      isCopied: true,
    },
  ],
  drops: ['COPILOT_HOME'],
  writes: [USAGE_FILE],
  hosts: [
    'api.github.com',
    '*.githubcopilot.com',
    'copilot-proxy.githubusercontent.com',
    ...hostsIn([env.COPILOT_PROVIDER_BASE_URL, env.COPILOT_API_URL]),
  ],
});
