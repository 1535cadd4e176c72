import { asSquadError, SquadError } from '../../schema/error.ts';
import type { Failure } from '../backend.ts';
import { UnreadableRow } from '../tables.ts';
import { OTHER_HUB } from './schema.ts';

/** Returns the SQLSTATE of a server error. Null for errors of the connection and of our own code. */
export function sqlState(thrown: unknown): string | null {
  const code = (thrown as { code?: unknown } | null)?.code;
  // Codes of the system, such as EPIPE, begin with E. No class of SQLSTATE does.
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/**
 * SQLSTATE codes of temporary errors: deadlock, serialization failure, lock not available, too many connections, out of
 * memory, a server that is stopping or starting, a lost connection, and a transaction that was idle for too long.
 */
const TEMPORARY = /^(40001|40P01|55P03|53[0234]00|57P0[1235]|08\d{3}|25P0[34])$/;

/** Network errors. Node's errors have a code. Errors of `pg` without a code are recognised by their message. */
const CONNECTION_CODES = /^(E(CONN|HOST|NET|TIMEDOUT|PIPE|AI_|NOTFOUND|ACCES|ADDR)|ENOENT)/;
const CONNECTION_TEXTS =
  /connection (terminated|ended|timeout)|timeout (expired|exceeded)|read timeout|not queryable|been discarded/i;

/** Classifies an error of PostgreSQL, of the connection, or of the code around it. `name` is the URL without its password. */
export function postgresFailure(thrown: unknown, name: string): Failure {
  if (thrown instanceof SquadError) return { kind: KIND_OF[thrown.code] ?? 'broken', error: thrown };
  const message = thrown instanceof Error ? thrown.message || String(thrown) : String(thrown);
  if (thrown instanceof UnreadableRow) return broken(name, message, thrown);
  const state = sqlState(thrown);
  if (state === null) {
    const unverified = tlsFailure(name, message, thrown);
    if (unverified) return unverified;
    if (isConnectionError(thrown)) return unreachable(name, thrown);
    const known = asSquadError(thrown);
    return known.code === 'INTERNAL' ? refused(name, message, thrown) : { kind: 'broken', error: known };
  }
  if (state === OTHER_HUB) return { kind: 'refused', error: ofOtherHub(message, thrown) };
  if (TEMPORARY.test(state))
    return state.startsWith('08') || state.startsWith('57') ? unreachable(name, thrown) : busy(name, thrown);
  if (state === '53100') return full(name, thrown);
  if (/^2[23]/.test(state)) return refused(name, message, thrown);
  if (state === '25006') return readOnly(name, thrown);
  if (/^(28|42501)/.test(state)) return denied(name, message, thrown);
  return broken(name, `${message} (${state})`, thrown, SUGGESTION_OF[state]);
}

const TLS_CODES =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|ERR_(TLS|SSL)_|HOSTNAME_MISMATCH|EPROTO)/;

/** A server that does not have TLS, or a certificate that is not trusted. Null for any other error. */
function tlsFailure(name: string, message: string, cause: unknown): Failure | null {
  const { code } = cause as { code?: unknown };
  if (/does not support SSL/.test(message))
    return broken(
      name,
      'its server has no TLS',
      cause,
      'Turn on `ssl` in postgresql.conf. For a server without TLS on a network that you trust, use sslmode=disable.',
    );
  if (typeof code !== 'string' || !TLS_CODES.test(code)) return null;
  const suggestion =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? 'Use a host name in the URL that the certificate of the server contains.'
      : code === 'CERT_HAS_EXPIRED'
        ? 'Renew the certificate of the server.'
        : 'Name the certificate authority of the server in the URL: sslmode=verify-full&sslrootcert=/path/ca.crt.';
  return broken(name, `its server could not be verified (${message})`, cause, suggestion);
}

export function isConnectionError(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || sqlState(thrown) !== null) return false;
  const { code } = thrown as NodeJS.ErrnoException;
  // Node throws an AggregateError if all addresses of a host refuse the connection.
  if (thrown instanceof AggregateError) return thrown.errors.every(isConnectionError);
  return (code !== undefined && CONNECTION_CODES.test(code)) || CONNECTION_TEXTS.test(thrown.message);
}

const ofOtherHub = (message: string, cause: unknown): SquadError =>
  new SquadError('RUN_ELSEWHERE', `The change was refused: ${message}. Nothing was changed.`, {
    cause,
    suggestions: ['Use the hub that started the run.'],
  });

const KIND_OF: { [code: string]: Failure['kind'] } = {
  DATABASE_LOCKED: 'locked',
  DATABASE_UNREACHABLE: 'locked',
  DISK_FULL: 'full',
  SPAWN_RATE_LIMIT: 'refused',
  CHAT_BUSY: 'refused',
};

const SUGGESTION_OF: { [state: string]: string } = {
  '3D000': 'Create the database, for example with `createdb`, or correct SQUAD_DATABASE_URL.',
  '3F000': 'Create the schema that the search_path of SQUAD_DATABASE_URL names.',
  '42704': 'Create the database user first: `create role NAME login`.',
};

function unreachable(name: string, cause: unknown): Failure {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const why = first instanceof Error ? first.message : String(first);
  return {
    kind: 'locked',
    error: new SquadError('DATABASE_UNREACHABLE', `The database ${name} cannot be reached: ${why}.`, {
      cause,
      suggestions: [
        'Check that PostgreSQL is running and that the host and port of SQUAD_DATABASE_URL are right.',
      ],
    }),
  };
}

const busy = (name: string, cause: unknown): Failure => ({
  kind: 'locked',
  error: new SquadError('DATABASE_LOCKED', `The database ${name} is busy: ${(cause as Error).message}.`, {
    cause,
    suggestions: ['Try again. If this happens often, look for long transactions in pg_stat_activity.'],
  }),
});

const full = (name: string, cause: unknown): Failure => ({
  kind: 'full',
  error: new SquadError('DISK_FULL', `The server of the database ${name} has no disk space left.`, {
    cause,
    suggestions: ['Free some space on the database server (`squad prune` removes old runs), then try again.'],
  }),
});

export const readOnly = (name: string, cause?: unknown): Failure => ({
  kind: 'broken',
  error: new SquadError('PERMISSION_DENIED', `The database ${name} is read-only.`, {
    cause,
    suggestions: [
      'Use the primary server, not a standby, and check default_transaction_read_only of the database and its user.',
    ],
  }),
});

const denied = (name: string, why: string, cause: unknown): Failure => ({
  kind: 'broken',
  error: new SquadError('PERMISSION_DENIED', `The database ${name} refused the user: ${why}.`, {
    cause,
    suggestions: [
      'Check the user and password of the URL (or ~/.pgpass). The user needs its own tables, or rights on them: see `squad db grant`.',
    ],
  }),
});

export const broken = (name: string, why: string, cause?: unknown, suggestion?: string): Failure => ({
  kind: 'broken',
  error: new SquadError('DATABASE_FAILED', `The database ${name} cannot be used: ${why}.`, {
    cause,
    suggestions: [suggestion ?? 'Check the log of the PostgreSQL server.'],
  }),
});

const refused = (name: string, why: string, cause: unknown): Failure => ({
  kind: 'refused',
  error: new SquadError('DATABASE_FAILED', `The database ${name} refused a change: ${why}.`, {
    cause,
    suggestions: ['This is a bug in Squad; please report it. All other changes were saved.'],
  }),
});
