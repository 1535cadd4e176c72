import { accessSync, constants } from 'node:fs';
import { isAbsolute } from 'node:path';
import { SquadError } from '../../schema/error.ts';

export const isPostgresUrl = (database: string): boolean => /^postgres(ql)?:/i.test(database);

/** URL parameters that identify the database. All other parameters may be secret, so they are not shown. */
const SHOWN = ['host', 'port', 'dbname', 'options'];

/** Returns the URL without user, password and secret parameters, for messages and for the mark file of the home. */
export function nameOfDatabase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  // An unescaped `#` or `?` in a password splits the URL in the wrong place. Such a URL is refused, because its name
  // would show a part of the password.
  const isWhole =
    parsed && parsed.hash === '' && (parsed.pathname.length > 1 || parsed.searchParams.has('dbname'));
  if (!isWhole || !isPostgresUrl(url)) throw invalid();
  parsed.username = '';
  parsed.password = '';
  for (const name of [...parsed.searchParams.keys()])
    if (!SHOWN.includes(name)) parsed.searchParams.delete(name);
  return parsed.href;
}

/** TLS modes that the driver treats as verify-full, with a warning on standard error. */
const VERIFIED = ['prefer', 'require', 'verify-ca'];

/**
 * Returns the URL for the driver. Checks the file of the certificate authority, because the driver reads it at each
 * connect and reports it as a problem of the connection.
 */
export function urlForDriver(url: string): string {
  if (!URL.canParse(url)) throw invalid();
  const parsed = new URL(url);
  const file = parsed.searchParams.get('sslrootcert');
  if (file !== null) requireFile(file);
  const mode = parsed.searchParams.get('sslmode');
  const isAlias = mode !== null && VERIFIED.includes(mode) && !parsed.searchParams.has('uselibpqcompat');
  if (!isAlias) return url;
  parsed.searchParams.set('sslmode', 'verify-full');
  return parsed.href;
}

function requireFile(file: string): void {
  const suggestions = [
    'Set sslrootcert to the absolute path of the certificate authority, or remove it to use those of Node.',
  ];
  if (!isAbsolute(file))
    throw new SquadError('CONFIG_INVALID', `sslrootcert=${file} is not an absolute path.`, { suggestions });
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw new SquadError('CONFIG_INVALID', `The file ${file} (sslrootcert) cannot be read.`, {
      cause,
      suggestions,
    });
  }
}

/** Whether the URL leads to a server on this machine: by a socket, or by an address of loopback. */
export function isLocal(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' || host.startsWith('/') || /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host);
}

const invalid = (): SquadError =>
  new SquadError('CONFIG_INVALID', 'SQUAD_DATABASE_URL is not the URL of a PostgreSQL database.', {
    suggestions: [
      'Use postgres://USER@HOST:5432/DATABASE. Special characters of a password must be percent-encoded; better put it into ~/.pgpass.',
    ],
  });
