import type { GitHostAccess, HostedRepository } from '../core/ports/git-host.ts';
import type { ProgramEnd } from '../process/programs/run-program.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import { isServedBy } from './api-url.ts';
import { parseRemoteUrl, shownAddress } from './remote-url.ts';

export interface PushAttempt {
  repository: HostedRepository;
  access: GitHostAccess;
  branch: string;
  limitMs: number;
}

/** Why a push failed: the messages of git and the host, and the next step. */
export function pushError(end: ProgramEnd, attempt: PushAttempt): SquadError {
  const { repository, branch } = attempt;
  const where = `${repository.owner}/${repository.name} (remote ${repository.remote})`;
  if (end.cut === 'missing')
    return new SquadError('GIT_FAILED', `git could not be started: ${end.stderr}`, {
      suggestions: ['Install git, then retry.'],
    });
  if (end.cut !== null)
    return unknown(`Pushing ${branch} to ${where} timed out after ${attempt.limitMs / 1000} s`);
  const message = messageOf(end, attempt);
  const cause = CAUSES.find(({ pattern }) => pattern.test(`${end.stdout}\n${end.stderr}`));
  if (cause?.next === null)
    return unknown(`The connection broke while ${branch} was pushed to ${where}: ${message}`);
  const why = cause?.why?.(attempt);
  const reason = [why, message].filter(Boolean).join('; ');
  return new SquadError('PUSH_REJECTED', `Pushing ${branch} to ${where} failed: ${reason}`, {
    suggestions: [
      cause?.next(attempt) ?? 'Try `git push` there by hand to see more. No pull request was opened.',
    ],
  });
}

interface Cause {
  pattern: RegExp;
  /** Added where git's message is not clear. */
  why?: (attempt: PushAttempt) => string;
  /** Null: the branch may have arrived. */
  next: ((attempt: PushAttempt) => string) | null;
}

/** The first match counts, so certain causes come first. */
const CAUSES: Cause[] = [
  {
    pattern: /\((non-fast-forward|fetch first|stale info|needs force)\)/,
    next: ({ branch, repository: { remote } }) =>
      `The host has commits on ${branch} that are not in this work tree. Merge them (\`git fetch ${shellWord(remote)} ${shellWord(branch)}\`, then \`git merge FETCH_HEAD\`) and retry; Squad never forces a push.`,
  },
  {
    pattern: /\[remote rejected\]|\[remote failure\]/,
    next: ({ branch }) =>
      `The host's rules for ${branch} reject the push: see its message, or ask a maintainer of the repository.`,
  },
  {
    pattern: /Host key verification failed/,
    next: () => 'Connect once by hand with ssh to accept the host key, then retry.',
  },
  {
    // Over http git would prompt for a user name and password, and cannot.
    pattern: /Authentication failed for 'https?:|could not read (Username|Password) for|error: 401\b/i,
    why: attempt =>
      getsToken(attempt)
        ? 'the host did not accept the token'
        : 'the host requires a token, and none was sent',
    next: attempt =>
      getsToken(attempt)
        ? 'The token in GITHUB_TOKEN is invalid or has expired: create a new one (scope `repo`, or "Contents: read and write" for a fine-grained one) and restart your client with it.'
        : `The token is sent only to the host of ${attempt.repository.apiUrl}. If the remote is another host of yours, set GITHUB_API_URL to its API.`,
  },
  {
    pattern: /Permission denied|Authentication failed|error: 403\b/i,
    next: ({ repository: { url } }) =>
      /^https?:/.test(url)
        ? 'The token must be allowed to write the contents of the repository: scope `repo`, or "Contents: read and write" for a fine-grained one.'
        : 'The key in your ssh agent must be allowed to write to the repository: try `ssh -T` to the host.',
  },
  {
    pattern: /error: 3\d\d\b|redirect/i,
    next: ({ repository: { remote } }) =>
      `The repository has moved. Set its new address with \`git remote set-url ${shellWord(remote)} URL\`; the token is not sent to another host.`,
  },
  {
    pattern: /not found|does not appear to be a git repository|does not exist|error: 404\b/i,
    next: ({ repository: { remote } }) =>
      `Compare the address of the remote (\`git remote get-url ${shellWord(remote)}\`) with the repository on the host, and check that the token has access to it.`,
  },
  {
    pattern:
      /Could not resolve|Failed to connect|Couldn't connect|Connection refused|timed out|unreachable|No route/i,
    next: () => 'The host cannot be reached from here: check the network and any proxy, then retry.',
  },
  {
    pattern: /hung up|RPC failed|early EOF|reset by peer|Broken pipe|error: 5\d\d\b|Empty reply/i,
    next: null,
  },
];

function getsToken({ repository: { url, apiUrl } }: PushAttempt): boolean {
  const remote = parseRemoteUrl(url, '/');
  return remote !== null && isServedBy(remote, apiUrl);
}

const MAX_TEXT_LENGTH = 800;

/** The host's lines, then why git gave up. */
function messageOf(
  { stdout, stderr, code }: ProgramEnd,
  { access, repository: { url } }: PushAttempt,
): string {
  const refusals = String(stdout)
    .split('\n')
    .flatMap(line => (line.startsWith('!') ? [line.split('\t').at(-1)!] : []));
  const said = stderr
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(remote|fatal|error|ssh|kex|Host key|[\w.@-]+: Permission denied)/.test(line))
    .filter(line => !/^(error: failed to push some refs|remote: *$)/.test(line));
  const all = [...new Set([...refusals, ...said])];
  // Git's prompt for credentials: `why` explains it better.
  const known = all.filter(line => !/could not read (Username|Password)/.test(line));
  const text = all.length > 0 ? known.join('; ') : stderr.trim() || `git ended with ${code}`;
  return createRedactor([{ name: 'GITHUB_TOKEN', value: access.token }])
    .text(text.replaceAll(url, shownAddress(url)))
    .slice(0, MAX_TEXT_LENGTH)
    .toWellFormed();
}

const unknown = (message: string): SquadError =>
  new SquadError('GITHUB_UNREACHABLE', `${message}. The branch may have arrived or not`, {
    suggestions: ['Retry: what has arrived is not sent twice.'],
  });
