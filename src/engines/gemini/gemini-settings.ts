import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type RunEndpoint, SQUAD_SERVER } from '../../core/ports/engine.ts';
import { type Fields, fields, fieldsOf, text } from '../json-line.ts';

/** Where the user's own Gemini CLI keeps its files. */
export const usersFolder = (env: Record<string, string>): string =>
  join(env.GEMINI_CLI_HOME || env.HOME || '/', '.gemini');

/** The settings of one chat's home: quiet, few retries, and Squad as the only MCP server. */
export function geminiSettings(env: Record<string, string>, endpoint: RunEndpoint | null): string {
  const selectedType = authType(env);
  return JSON.stringify({
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 2 },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    ...(selectedType && { security: { auth: { selectedType } } }),
    // Over HTTP it would not begin a new session after a restart of the hub; the relay does.
    mcpServers: endpoint ? { [SQUAD_SERVER]: { ...endpoint.relay, trust: true } } : {},
  });
}

/** The way of logging in the user chose; else the one their environment means. */
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
    return {}; // none, or not readable: as good as none
  }
}

/** What a login consists of, and the keys and words a user keeps for every project. */
const SHARED = [
  'oauth_creds.json',
  'google_accounts.json',
  'gemini-credentials.json',
  'installation_id',
  '.env',
  'GEMINI.md',
];

/** Links, not copies: a login that is renewed is renewed for the user too, and no secret is written twice. */
export function linkLogin(env: Record<string, string>, chatHome: string): void {
  const from = usersFolder(env);
  const to = join(chatHome, '.gemini');
  if (from === to) return;
  for (const name of SHARED) {
    const [target, link] = [join(from, name), join(to, name)];
    if (!existsSync(target) || existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
    rmSync(link, { force: true }); // a link to what is no longer there
    symlinkSync(target, link);
  }
}
