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

const invalid = (): SquadError =>
  new SquadError('CONFIG_INVALID', 'SQUAD_DATABASE_URL is not the URL of a PostgreSQL database.', {
    suggestions: [
      'Use postgres://USER@HOST:5432/DATABASE. Special characters of a password must be percent-encoded; better put it into ~/.pgpass.',
    ],
  });
