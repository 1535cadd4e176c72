import { SquadError } from '../schema/error.ts';
import type { ApiFailure } from './octokit-client.ts';

export interface Attempt {
  /** "open a pull request in owner/name" */
  what: string;
  apiUrl: string;
  /** Needed by a classic token (scope) or a fine-grained one (permissions). */
  scope: string;
  permissions: string;
}

/** The host's own message, with a next step from its headers. */
export function apiError(failure: ApiFailure, attempt: Attempt): SquadError {
  const { status } = failure;
  const said = messageOf(failure);
  if (status === null || status >= 500) return unreachable(failure, attempt, said);
  if (isRateLimit(failure)) return rateLimited(failure, attempt, said);
  const answer = `${hostOf(attempt)} did not ${attempt.what}: ${said} (${status})`;
  return new SquadError('GITHUB_REFUSED', answer, { suggestions: [nextStep(failure, attempt)] });
}

/** A response that is not GitHub's, or was cut off. */
export const unreadable = (attempt: Attempt): SquadError =>
  new SquadError(
    'GITHUB_UNREACHABLE',
    `${hostOf(attempt)} was asked to ${attempt.what} and sent a response that cannot be read. It may have been done or not`,
    {
      suggestions: [
        `Check that ${attempt.apiUrl} is the address of a GitHub API, and check there before you retry.`,
      ],
    },
  );

function unreachable({ status }: ApiFailure, attempt: Attempt, said: string): SquadError {
  const how = status === null ? `could not be reached: ${said}` : `failed: ${said} (${status})`;
  return new SquadError('GITHUB_UNREACHABLE', `${hostOf(attempt)} was asked to ${attempt.what} and ${how}`, {
    suggestions: [
      status === null
        ? `Check the network, and GITHUB_API_URL if it is set (the request went to ${attempt.apiUrl}). Then retry.`
        : 'Try again later; Squad does not retry by itself.',
    ],
  });
}

const isRateLimit = ({ status, headers, data }: ApiFailure): boolean =>
  status === 429 ||
  (status === 403 &&
    (headers['x-ratelimit-remaining'] === '0' ||
      headers['retry-after'] !== undefined ||
      /rate limit/i.test(textOf(data, 'message') ?? '')));

function rateLimited({ headers }: ApiFailure, attempt: Attempt, said: string): SquadError {
  const resetAt = resetOf(headers);
  const until = resetAt === null ? '' : ` until ${resetAt}`;
  return new SquadError(
    'GITHUB_RATE_LIMITED',
    `${hostOf(attempt)} accepts no more requests with this token${until}: ${said}`,
    {
      suggestions: [resetAt === null ? 'Retry in a few minutes.' : `Retry after ${resetAt}.`],
      details: { reset_at: resetAt },
    },
  );
}

/** When the limit ends; null: unknown. */
function resetOf(headers: Record<string, string>): string | null {
  const wait = Number(headers['retry-after']);
  const reset = Number(headers['x-ratelimit-reset']);
  if (headers['x-ratelimit-remaining'] === '0' && reset > 0) return asTime(reset * 1000);
  return wait > 0 ? asTime(Date.now() + wait * 1000) : null;
}

/** Null: not a valid date. */
function asTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function nextStep({ status, headers }: ApiFailure, { scope, permissions }: Attempt): string {
  const needed = `scope \`${headers['x-accepted-oauth-scopes'] || scope}\`, or ${permissions} for a fine-grained one`;
  if (status !== null && status < 400)
    return 'The repository has moved. Set its new address with `git remote set-url`; the token is not sent to another host.';
  if (status === 401)
    return 'The token in GITHUB_TOKEN is invalid or has expired: create a new one and restart your client with it.';
  if (status !== 403 && status !== 404) return 'Change the request as the message says, then retry.';
  const has = headers['x-oauth-scopes'];
  const own = has === undefined ? '' : ` It has ${has === '' ? 'no scope at all' : `the scopes \`${has}\``}.`;
  const seen =
    status === 404
      ? ' GitHub also answers "Not Found" when a token has no access: check the address of the remote too.'
      : '';
  return `The token needs ${needed}.${own}${seen}`;
}

const MAX_TEXT_LENGTH = 800;

function messageOf({ data, message }: ApiFailure): string {
  const errors = (data as { errors?: unknown } | null)?.errors;
  const details = Array.isArray(errors) ? errors.map(detailOf).filter(text => text !== '') : [];
  const own = textOf(data, 'message');
  const said = own === null ? plain(message) : [own, ...details].join('; ');
  return said.slice(0, MAX_TEXT_LENGTH).toWellFormed() || 'no reason given';
}

/** `{ resource, field, code, message }` of a refused value. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = textOf(error, 'message');
  if (message) return message;
  return [textOf(error, 'resource'), textOf(error, 'field'), textOf(error, 'code')].filter(Boolean).join(' ');
}

/** An error page of a proxy is no reason. */
const plain = (text: string): string =>
  /<html|<!doctype/i.test(text) ? 'a web page instead of an answer' : text;

function textOf(value: unknown, key: string): string | null {
  const found = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof found === 'string' && found !== '' ? found : null;
}

const hostOf = ({ apiUrl }: Attempt): string =>
  apiUrl === 'https://api.github.com' ? 'GitHub' : `GitHub (${new URL(apiUrl).host})`;
