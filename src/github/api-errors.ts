import { SquadError } from '../schema/error.ts';
import type { ApiFailure } from './api-client.ts';

/** What was tried, for the words of its failure. */
export interface Attempt {
  /** "open a pull request in owner/name" */
  what: string;
  apiUrl: string;
  /** What a token must have for it: a classic one, a fine-grained one. */
  scope: string;
  permissions: string;
}

/** A refusal as it came: the host's own words, and what its headers say about the way out. */
export function apiError(failure: ApiFailure, attempt: Attempt): SquadError {
  const { status } = failure;
  const said = wordsOf(failure);
  if (status === null || status >= 500) return unreachable(failure, attempt, said);
  if (isRateLimit(failure)) return rateLimited(failure, attempt, said);
  const answer = `${hostOf(attempt)} did not ${attempt.what}: ${said} (${status})`;
  return new SquadError('GITHUB_REFUSED', answer, { suggestions: [nextStep(failure, attempt)] });
}

/** An answer that is none: something else than GitHub is there, or the connection broke in the middle of it. */
export const unreadable = (attempt: Attempt): SquadError =>
  new SquadError(
    'GITHUB_UNREACHABLE',
    `${hostOf(attempt)} was asked to ${attempt.what} and gave no answer that can be read. Whether it was done is not known`,
    {
      suggestions: [
        `Check that ${attempt.apiUrl} is the address of a GitHub API, and look there before you ask again.`,
      ],
    },
  );

function unreachable({ status }: ApiFailure, attempt: Attempt, said: string): SquadError {
  const how = status === null ? `could not be reached: ${said}` : `is in trouble: ${said} (${status})`;
  return new SquadError('GITHUB_UNREACHABLE', `${hostOf(attempt)} was asked to ${attempt.what} and ${how}`, {
    suggestions: [
      status === null
        ? `Check the network, and GITHUB_API_URL if it is set (${attempt.apiUrl} was asked). Then ask again.`
        : 'Ask again in a while; nothing is tried twice by itself.',
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
    `${hostOf(attempt)} takes no more requests with this token${until}: ${said}`,
    {
      suggestions: [resetAt === null ? 'Ask again in a few minutes.' : `Ask again after ${resetAt}.`],
      details: { reset_at: resetAt },
    },
  );
}

/** When requests are taken again; null: it does not say. */
function resetOf(headers: Record<string, string>): string | null {
  const wait = Number(headers['retry-after']);
  const reset = Number(headers['x-ratelimit-reset']);
  if (headers['x-ratelimit-remaining'] === '0' && reset > 0) return asTime(reset * 1000);
  return wait > 0 ? asTime(Date.now() + wait * 1000) : null;
}

/** Null for a number no calendar has. */
function asTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function nextStep({ status, headers }: ApiFailure, { scope, permissions }: Attempt): string {
  const needed = `scope \`${headers['x-accepted-oauth-scopes'] || scope}\`, or ${permissions} for a fine-grained one`;
  if (status !== null && status < 400)
    return 'It has moved. Put its new address in with `git remote set-url`; a token is not sent along to another place.';
  if (status === 401)
    return 'The token in GITHUB_TOKEN is not valid, or no longer: make a new one and restart your client with it.';
  if (status !== 403 && status !== 404)
    return 'Change what is asked for as the message says, then ask again.';
  const has = headers['x-oauth-scopes'];
  const own = has === undefined ? '' : ` It has ${has === '' ? 'no scope at all' : `the scopes \`${has}\``}.`;
  const seen =
    status === 404
      ? ' GitHub also says "Not Found" where a token may not look: check the remote\'s address too.'
      : '';
  return `The token needs ${needed}.${own}${seen}`;
}

const MAX_TEXT_LENGTH = 800;

function wordsOf({ data, message }: ApiFailure): string {
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

/** A page of a proxy is not a reason. */
const plain = (text: string): string =>
  /<html|<!doctype/i.test(text) ? 'a web page instead of an answer' : text;

function textOf(value: unknown, key: string): string | null {
  const found = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof found === 'string' && found !== '' ? found : null;
}

const hostOf = ({ apiUrl }: Attempt): string =>
  apiUrl === 'https://api.github.com' ? 'GitHub' : `GitHub (${new URL(apiUrl).host})`;
