import type { ForgeAccess, ForgeRepository } from '../core/ports/git-host.ts';
import { SquadError } from '../schema/error.ts';
import { isServedBy } from './api-url.ts';
import { type Protocol, parseRemoteUrl } from './remote-url.ts';

/** How git gets to the repository. */
export interface Transport {
  protocol: Protocol;
  /** Options of git itself. */
  options: string[];
  /** Options of `push`. */
  receiver: string[];
  /** Over the usual ones; `home` is a folder with nothing in it. */
  env(home: string): Record<string, string>;
}

const CONNECT_SECONDS = 20;

export function transport(repository: ForgeRepository, access: ForgeAccess): Transport {
  const remote = parseRemoteUrl(repository.url, '/');
  if (!remote) throw new SquadError('INTERNAL', `Not an address: ${repository.url}`);
  const options = ['credential.helper=', 'http.followRedirects=false'].flatMap(each => ['-c', each]);
  const common = { protocol: remote.protocol, options, receiver: [] };
  switch (remote.protocol) {
    case 'file':
      return { ...common, receiver: [`--receive-pack=${RECEIVE_PACK}`], env: () => ({}) };
    case 'ssh':
      return { ...common, env: () => sshEnvironment(access) };
    default:
      return {
        ...common,
        env: home => ({
          ...picked(access.env, HTTP_NAMES),
          // Other passwords of the user's are kept below the home.
          HOME: home,
          ...(isServedBy(remote, repository.apiUrl) && tokenFor(repository.url, access.token)),
        }),
      };
  }
}

/** In the environment of this one command: not among arguments, which everybody sees, and in no file. */
function tokenFor(url: string, token: string): Record<string, string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** The user's own way, asked to fail where it would have to ask somebody. */
function sshEnvironment({ env }: ForgeAccess): Record<string, string> {
  const command = env.GIT_SSH_COMMAND?.trim() || 'ssh';
  return {
    ...picked(env, ['SSH_AUTH_SOCK']),
    GIT_SSH_COMMAND: `${command} -o BatchMode=yes -o ConnectTimeout=${CONNECT_SECONDS}`,
    GIT_SSH_VARIANT: 'ssh',
  };
}

/**
 * For a repository in a folder git starts the other side itself, in that repository and with its configuration, which an
 * agent may have written: there, too, nothing is run.
 */
const RECEIVE_PACK = [
  'git',
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'core.alternateRefsCommand=true',
    'receive.autogc=false',
    // Another value would check files out, through that repository's filters.
    'receive.denyCurrentBranch=refuse',
  ].flatMap(setting => ['-c', setting]),
  'receive-pack',
].join(' ');

const HTTP_NAMES = [
  ...['http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'GIT_SSL_CAINFO', 'GIT_SSL_CAPATH'],
];

const picked = (env: Record<string, string>, names: string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap(name => (env[name] ? [[name, env[name]]] : [])));
