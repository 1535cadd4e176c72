import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type RunEndpoint, SQUAD_SERVER } from '../../core/ports/engine.ts';
import type { CliProfile } from '../cli-profile.ts';
import { type Fields, fields, fieldsOf, text } from '../json-line.ts';
import { cloudLogin, filesOf, hostsIn } from '../sandbox-needs.ts';

/** Configuration folder of the user's own Gemini CLI. */
export const usersFolder = (env: Record<string, string>): string =>
  join(env.GEMINI_CLI_HOME || env.HOME || '/', '.gemini');

/** Settings for the home folder of one chat: quiet, few retries, and Squad as the only MCP server. */
export function geminiSettings(
  env: Record<string, string>,
  endpoint: RunEndpoint | null,
  hasNoRelay = false,
): string {
  const selectedType = authType(env);
  return JSON.stringify({
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 2 },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    ...(selectedType && { security: { auth: { selectedType } } }),
    mcpServers: endpoint ? { [SQUAD_SERVER]: { ...serverOf(endpoint, hasNoRelay), trust: true } } : {},
  });
}

/**
 * Over HTTP Gemini CLI does not open a new MCP session after a restart of the hub. The relay does, but inside a
 * sandbox or on another machine it cannot reach the hub.
 */
const serverOf = ({ relay, url, token }: RunEndpoint, hasNoRelay: boolean) =>
  hasNoRelay ? { httpUrl: url, headers: { Authorization: `Bearer ${token}` } } : relay;

/** The login method that the user chose, or else the one that the environment implies. */
function authType(env: Record<string, string>): string | null {
  const chosen = text(fields(fields(usersSettings(env).security).auth).selectedType);
  if (chosen) return chosen;
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return 'oauth-personal';
  if (env.GOOGLE_GENAI_USE_VERTEXAI === 'true') return 'vertex-ai';
  if (env.GEMINI_API_KEY) return 'gemini-api-key';
  return existsSync(join(usersFolder(env), 'oauth_creds.json')) ? 'oauth-personal' : null;
}

function usersSettings(env: Record<string, string>): Fields {
  try {
    return fieldsOf(readFileSync(join(usersFolder(env), 'settings.json'), 'utf8')) ?? {};
  } catch {
    return {}; // the file is missing or not readable
  }
}

/** Files of the login, and the user's keys and instructions for all projects. */
const SHARED = [
  'oauth_creds.json',
  'google_accounts.json',
  'gemini-credentials.json',
  'installation_id',
  '.env',
  'GEMINI.md',
];

/**
 * Links the login files into the chat's home. They are not copied, so that a renewed login also reaches the user's
 * CLI, and no secret is stored twice.
 */
export function linkLogin(env: Record<string, string>, chatHome: string): void {
  const from = usersFolder(env);
  const to = join(chatHome, '.gemini');
  if (from === to) return;
  for (const name of SHARED) {
    const [target, link] = [join(from, name), join(to, name)];
    if (!existsSync(target) || existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
    rmSync(link, { force: true }); // removes a broken link
    symlinkSync(target, link);
  }
}

/** The chat's folder contains links to these files, so in the sandbox they keep their paths. */
export const geminiSandbox: CliProfile['sandbox'] = ({ env }) => {
  const folder = usersFolder(env);
  const isVertex = env.GOOGLE_GENAI_USE_VERTEXAI === 'true' || authType(env) === 'vertex-ai';
  const cloud = cloudLogin(env, { aws: false, google: isVertex });
  return {
    login: [...filesOf(folder, folder, SHARED), ...cloud.login],
    // Gemini CLI's own sandbox needs Docker, which cannot be reached inside Squad's.
    drops: ['GEMINI_SANDBOX'],
    hosts: [
      'generativelanguage.googleapis.com',
      'cloudcode-pa.googleapis.com',
      // Hosts that renew and check the login.
      ...['oauth2.googleapis.com', 'www.googleapis.com'],
      ...hostsIn([env.GOOGLE_GEMINI_BASE_URL, env.GOOGLE_VERTEX_BASE_URL, env.CODE_ASSIST_ENDPOINT]),
      ...cloud.hosts,
    ],
  };
};
