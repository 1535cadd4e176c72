import type { ForgeAccess, ForgeRepository } from '../core/ports/git-host.ts';
import type { ProgramEnd } from '../process/programs/run-program.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import { isServedBy } from './api-url.ts';
import { parseRemoteUrl, shownAddress } from './remote-url.ts';

export interface PushAttempt {
  repository: ForgeRepository;
  access: ForgeAccess;
  branch: string;
  limitMs: number;
}

/** Why a push did not work, in git's own words and the host's, with what to do about it. */
export function pushError(end: ProgramEnd, attempt: PushAttempt): SquadError {
  const { repository, branch } = attempt;
  const where = `${repository.owner}/${repository.name} (remote ${repository.remote})`;
  if (end.cut === 'missing')
    return new SquadError('GIT_FAILED', `git could not be started: ${end.stderr}`, {
      suggestions: ['Install git, then ask again.'],
    });
  if (end.cut !== null)
    return unknown(`Pushing ${branch} to ${where} was given up after ${attempt.limitMs / 1000} s`);
  const words = wordsOf(end, attempt);
  const cause = CAUSES.find(({ pattern }) => pattern.test(`${end.stdout}\n${end.stderr}`));
  if (cause?.next === null)
    return unknown(`The connection broke while ${branch} was pushed to ${where}: ${words}`);
  const why = cause?.why?.(attempt);
  const told = [...(why ? [why] : []), ...(words === '' ? [] : [words])].join('; ');
  return new SquadError('PUSH_REJECTED', `Pushing ${branch} to ${where} did not work: ${told}`, {
    suggestions: [cause?.next(attempt) ?? 'Try `git push` there by hand to see more. Nothing was opened.'],
  });
}

interface Cause {
  pattern: RegExp;
  /** What git's own words do not say. */
  why?: (attempt: PushAttempt) => string;
  /** Null: whether the branch arrived is not known. */
  next: ((attempt: PushAttempt) => string) | null;
}

/** The first that fits: what is sure stands before what is not. */
const CAUSES: Cause[] = [
  {
    pattern: /\((non-fast-forward|fetch first|stale info|needs force)\)/,
    next: ({ branch, repository: { remote } }) =>
      `The host has commits on ${branch} that are not in this work tree. Bring them in (\`git fetch ${shellWord(remote)} ${shellWord(branch)}\`, then \`git merge FETCH_HEAD\`) and ask again; Squad never forces a push.`,
  },
  {
    pattern: /\[remote rejected\]|\[remote failure\]/,
    next: ({ branch }) =>
      `The host's rules for ${branch} refuse it: see what it says, or ask whoever keeps the repository.`,
  },
  {
    pattern: /Host key verification failed/,
    next: () => 'Connect once by hand with ssh to accept the key of the host, then ask again.',
  },
  {
    // Over http: git has nobody to ask for another name and password.
    pattern: /Authentication failed for 'https?:|could not read (Username|Password) for|error: 401\b/i,
    why: attempt =>
      getsToken(attempt) ? 'the host did not accept the token' : 'the host wants a token and was sent none',
    next: attempt =>
      getsToken(attempt)
        ? 'The token in GITHUB_TOKEN is not valid, or no longer: make a new one (scope `repo`, or "Contents: read and write" for a fine-grained one) and restart your client with it.'
        : `The token is for the host of ${attempt.repository.apiUrl} alone. If this is another one of yours, set GITHUB_API_URL to its API.`,
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
      `The repository has moved. Put its new address in with \`git remote set-url ${shellWord(remote)} URL\`; a token is not sent along to another place.`,
  },
  {
    pattern: /not found|does not appear to be a git repository|does not exist|error: 404\b/i,
    next: ({ repository: { remote } }) =>
      `Compare the address of the remote (\`git remote get-url ${shellWord(remote)}\`) with the repository on the host, and whether the token may see it.`,
  },
  {
    pattern:
      /Could not resolve|Failed to connect|Couldn't connect|Connection refused|timed out|unreachable|No route/i,
    next: () => 'The host cannot be reached from here: check the network and any proxy, then ask again.',
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

/** What a person would read of it: the host's lines, then why git gave up. */
function wordsOf({ stdout, stderr, code }: ProgramEnd, { access, repository: { url } }: PushAttempt): string {
  const refusals = String(stdout)
    .split('\n')
    .flatMap(line => (line.startsWith('!') ? [line.split('\t').at(-1)!] : []));
  const said = stderr
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(remote|fatal|error|ssh|kex|Host key|[\w.@-]+: Permission denied)/.test(line))
    .filter(line => !/^(error: failed to push some refs|remote: *$)/.test(line));
  const all = [...new Set([...refusals, ...said])];
  // It would have asked a person for another token: what that is about is said in our words.
  const known = all.filter(line => !/could not read (Username|Password)/.test(line));
  const words = all.length > 0 ? known.join('; ') : stderr.trim() || `git ended with ${code}`;
  return createRedactor([{ name: 'GITHUB_TOKEN', value: access.token }])
    .text(words.replaceAll(url, shownAddress(url)))
    .slice(0, MAX_TEXT_LENGTH)
    .toWellFormed();
}

const unknown = (message: string): SquadError =>
  new SquadError('GITHUB_UNREACHABLE', `${message}. Whether the branch arrived is not known`, {
    suggestions: ['Ask again: what has arrived is not sent twice.'],
  });
