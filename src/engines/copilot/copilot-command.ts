import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LoginFile, type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { asksUser } from '../asks-user.ts';
import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { fields, fieldsOf } from '../json-line.ts';
import { partOfArgument } from '../one-argument.ts';
import { filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';
import { toolFlags } from './copilot-tools.ts';

/** Copilot CLI writes a temporary file beside its target, so the sandbox needs a folder that it can write to. */
const REPORTS = 'reports';
/** File from which the reader takes the token counts. */
export const USAGE_FILE = `${REPORTS}/usage.json`;

export async function copilotCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { files, options, model, chatId, continues, endpoint, env } = input;
  const servers = endpoint && (await files.write('mcp.json', serversFile(endpoint)));
  // Squad's server replaces a user's server with the same name, so the user's need not be disabled.
  const off = (name: string) => (servers && name === SQUAD_SERVER ? [] : ['--disable-mcp-server', name]);
  const isFed = asksUser(options);
  return {
    argv: [
      program,
      ...(isFed ? ['--acp'] : ['--output-format', 'json']),
      ...['--no-color', '--no-ask-user'],
      ...['--no-auto-update', '--disable-client-telemetry', '--no-remote'],
      ...['--disable-builtin-mcps', ...usersServers(env).flatMap(off)],
      ...(servers === null ? [] : ['--additional-mcp-config', `@${servers}`]),
      ...toolFlags(options),
      ...(isFed ? [] : ['--usage-output-file', files.path(USAGE_FILE)]),
      ...(model === null ? [] : [`--model=${partOfArgument('model', model)}`]),
      ...(options.effort === null ? [] : [`--reasoning-effort=${partOfArgument('effort', options.effort)}`]),
      // The driver names the chat of a fed turn.
      ...(chatId === null || isFed
        ? []
        : continues
          ? [`--resume=${chatUuid('Copilot CLI', chatId)}`]
          : ['--session-id', chatUuid('Copilot CLI', chatId)]),
    ],
    ...(isFed ? { stdin: null, isFed } : { stdin: input.promptFile }),
    env: withoutClassicTokens(env),
  };
}

/** Copilot CLI exits at once if it finds a classic token, even if it could log in another way. */
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

/** The user's own MCP servers, which can only be disabled by name. */
function usersServers(env: Record<string, string>): string[] {
  try {
    const config = fieldsOf(readFileSync(join(copilotHome(env), 'mcp-config.json'), 'utf8'));
    return Object.keys(fields(config?.mcpServers)).filter(name => !name.startsWith('-'));
  } catch {
    return []; // the file is missing or not readable, so no servers are known
  }
}

export const copilotHome = (env: Record<string, string>): string =>
  env.COPILOT_HOME || join(env.HOME || '/', '.copilot');

/**
 * Copilot CLI replaces its configuration file at every start. A file that is mounted by itself cannot be replaced, so
 * the sandbox gets a copy.
 */
export const copilotSandbox: CliProfile['sandbox'] = ({ env }) => ({
  login: [
    {
      from: join(copilotHome(env), 'config.json'),
      path: join(homeOf(env), '.copilot/config.json'),
      isCopied: true,
    },
    ...unpacked(env),
  ],
  drops: ['COPILOT_HOME', 'COPILOT_CACHE_HOME', 'COPILOT_PKG_CACHE_HOME'],
  writes: [REPORTS],
  hosts: [
    'api.github.com',
    '*.githubcopilot.com',
    ...hostsIn([env.COPILOT_PROVIDER_BASE_URL, env.COPILOT_API_URL]),
  ],
});

/**
 * Folder with the unpacked program. If Copilot CLI does not find it, it unpacks 235 MB into each chat's HOME, which
 * takes seconds.
 */
function unpacked(env: Record<string, string>): LoginFile[] {
  const { COPILOT_PKG_CACHE_HOME: packages, COPILOT_CACHE_HOME: own, XDG_CACHE_HOME: cache } = env;
  const home = homeOf(env);
  const folder = join(packages || own || join(cache || join(home, '.cache'), 'copilot'), 'pkg', PLATFORM);
  const inside = join(home, '.cache/copilot/pkg', PLATFORM);
  try {
    return filesOf(folder, inside, readdirSync(folder)).filter(({ from }) =>
      existsSync(join(from, '.extraction-complete')),
    );
  } catch {
    return []; // the program has not been unpacked yet
  }
}

const PLATFORM = `${process.platform}-${process.arch}`;
