import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from './home.ts';
import { replaceFile } from './replace-file.ts';

/**
 * Variables of the user's shell that agents need and graphical clients do not pass on. Only variables that an agent CLI
 * reads, because the file goes into every agent's environment.
 */
const SAVED_NAMES = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ'],
  ...['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'],
  ...[
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'no_proxy',
  ],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'],
  ...['CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'],
  ...['CODEX_HOME', 'CODEX_API_KEY', 'CURSOR_API_KEY', 'OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR'],
  ...['GITHUB_TOKEN', 'GH_TOKEN', 'GH_HOST', 'CLOUD_ML_REGION', 'OPENROUTER_API_KEY', 'DASHSCOPE_API_KEY'],
  ...['AWS_PROFILE', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
  ...['AWS_BEARER_TOKEN_BEDROCK'],
]);
const SAVED_PREFIXES = ['ANTHROPIC_', 'OPENAI_', 'AZURE_OPENAI_', 'GEMINI_', 'GOOGLE_', 'COPILOT_', 'QWEN_'];

const HEADER =
  '# Written by `squad install`. One NAME="value" a line, the value as a JSON string; edit or remove lines freely.';
/** The checksum of the other lines shows whether the user edited the file; undo deletes only an unedited one. */
const HEADER_LINE = /^# Written by `squad install`\..*\n?/;
const LINE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;

export const environmentFilePath = (home: string): string => join(home, 'env');

/**
 * Variables that `squad install` saved, for clients that pass on almost no environment. Synchronous, because every
 * start of an agent waits for it, and a thread's round trip costs more than the call.
 */
export function savedEnvironment(home: string): Record<string, string> {
  const file = environmentFilePath(home);
  return existsSync(file) ? parseEnvironmentFile(readFileSync(file, 'utf8'), file) : {};
}

/**
 * Saves the variables of `env` that agents need, readable only by the owner, and keeps the other lines of a file that
 * the user edited. Returns the saved names; values are never shown.
 */
export function writeEnvironmentFile(home: string, env: Record<string, string | undefined>): string[] {
  ownFolder(home);
  const names = Object.keys(env).filter(name => isSaved(name) && env[name]);
  const lines = names.sort().map(name => `${name}=${JSON.stringify(env[name])}\n`);
  const body = lines.join('');
  const own = ownLines(home, new Set(names));
  const header = own === '' ? headerOf(body) : `${HEADER}\n`;
  replaceFile(environmentFilePath(home), header + body + own, 0o600);
  return names;
}

/** Whether the file differs from what the install wrote. */
export function isEnvironmentFileEdited(home: string): boolean {
  const file = environmentFilePath(home);
  if (!existsSync(file)) return false;
  const text = readFileSync(file, 'utf8');
  const body = text.replace(HEADER_LINE, '');
  return text !== headerOf(body) + body;
}

const headerOf = (body: string): string =>
  `${HEADER} Checksum: ${createHash('sha256').update(body).digest('hex').slice(0, 16)}\n`;

/** Lines of an edited file that do not set any of these names. */
function ownLines(home: string, written: ReadonlySet<string>): string {
  if (!isEnvironmentFileEdited(home)) return '';
  const text = readFileSync(environmentFilePath(home), 'utf8').replace(HEADER_LINE, '');
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => {
      const name = LINE.exec(line)?.[1];
      return line.startsWith('#') || (name !== undefined && !written.has(name));
    })
    .map(line => `${line}\n`)
    .join('');
}

/** Returns false when there is no environment file. */
export function removeEnvironmentFile(home: string): boolean {
  const file = environmentFilePath(home);
  if (!existsSync(file)) return false;
  rmSync(file, { force: true });
  return true;
}

/**
 * Parses the environment file, including hand-written NAME=value lines. The error for an invalid line contains its
 * number, never its text.
 */
export function parseEnvironmentFile(text: string, file: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, name, value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) throw unreadable(file, index + 1);
    variables[name] = value.startsWith('"') ? unquote(value, file, index + 1) : value;
  }
  return variables;
}

const isSaved = (name: string) =>
  SAVED_NAMES.has(name) || SAVED_PREFIXES.some(prefix => name.startsWith(prefix));

function unquote(value: string, file: string, line: number): string {
  try {
    return JSON.parse(value);
  } catch {
    throw unreadable(file, line);
  }
}

const unreadable = (file: string, line: number) =>
  Object.assign(new Error(`Line ${line} of ${file} is not NAME="value".`), {
    code: 'CONFIG_INVALID',
    suggestions: ['Fix or remove that line, or run `squad install <client>` to write the file again.'],
  });
