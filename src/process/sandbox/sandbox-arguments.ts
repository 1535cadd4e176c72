import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';

/** Same fields as `Mount` in the core. */
export interface Mount {
  path: string;
  from: string | null;
  access: 'read' | 'write';
  isOptional?: boolean;
  isWithoutLinks?: boolean;
}

/** Same fields as `TurnSandbox` in the core. */
export interface TurnSandbox {
  mounts: Mount[];
  home: string;
  network: 'full' | 'models' | 'none';
  hosts: string[];
}

/** Namespaces that every sandbox has. A sandbox with a limited network also enters the network namespace of a room. */
export const NAMESPACES = ['user', 'mnt', 'pid', 'ipc', 'uts'] as const;

const SYSTEM_FOLDERS = ['/usr', '/opt', '/nix'];
/** Symbolic links to folders of /usr. On older systems they are folders. */
const PROGRAM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const PRIVATE_FOLDERS = ['/tmp', '/var/tmp', '/run'];

/**
 * Files and folders of /etc that a sandbox can read. The others stay hidden, because /etc can contain passwords and
 * keys that an agent of root could read.
 */
const ETC = [
  ...['alternatives', 'bash.bashrc', 'ca-certificates', 'ca-certificates.conf', 'crypto-policies'],
  ...['debian_version', 'fonts', 'gai.conf', 'gitconfig', 'group', 'host.conf', 'hosts', 'inputrc', 'java'],
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'locale.alias', 'locale.conf', 'lsb-release'],
  ...['magic', 'mime.types', 'networks', 'nsswitch.conf', 'os-release', 'passwd', 'profile', 'profile.d'],
  ...[
    'pki/ca-trust',
    'pki/tls/cert.pem',
    'pki/tls/certs',
    'pki/tls/openssl.cnf',
    'protocols',
    'redhat-release',
  ],
  ...['resolv.conf', 'rpc', 'services', 'shells', 'ssl/cert.pem', 'ssl/certs', 'ssl/openssl.cnf'],
  ...['system-release', 'terminfo', 'timezone'],
];

/**
 * Files of /proc with the state of the whole machine: names and processes of the user's keys, timers and memory. An
 * agent of root could read all of them.
 */
const KERNEL_FILES = [
  ...['keys', 'key-users', 'timer_list', 'sched_debug', 'latency_stats', 'kcore', 'kallsyms'],
  ...['kpagecount', 'kpageflags', 'kpagecgroup'],
];

/** Names in the root folder of a sandbox that has no mounts. */
export const ROOT_NAMES: ReadonlySet<string> = new Set(
  [...SYSTEM_FOLDERS, ...PROGRAM_FOLDERS, ...PRIVATE_FOLDERS, '/etc', '/proc', '/dev'].map(
    path => path.split('/')[1]!,
  ),
);

export interface SandboxPlace {
  cwd: string;
  /** File descriptor on which bubblewrap reports that the program has started and how it exited. */
  statusFd: number;
  /**
   * File descriptor from which bubblewrap reads the system call filter. Null if there is no filter for this
   * architecture.
   */
  filterFd: number | null;
  /** Options that only newer versions of bubblewrap have. */
  extra: readonly string[];
  /**
   * Reserves a file descriptor on which bubblewrap gets the source of a mount without links. Null if this bubblewrap
   * mounts only paths. A descriptor that is not mounted would stay open in the sandbox.
   */
  sourceFd: ((path: string) => number) | null;
}

/** Builds the arguments of bubblewrap that come before the program. Throws if a mount has an invalid path. */
export function sandboxArguments(
  { mounts }: TurnSandbox,
  { cwd, statusFd, filterFd, extra, sourceFd }: SandboxPlace,
): string[] {
  return [
    ...[
      '--unshare-user',
      ...extra,
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
    ],
    ...['--hostname', 'squad', '--cap-drop', 'ALL', '--die-with-parent'],
    // The agent gets its own process group, so that signals of the agent to its group do not reach the wrapper.
    ...['--new-session', '--json-status-fd', String(statusFd)],
    ...(filterFd === null ? [] : ['--seccomp', String(filterFd)]),
    ...SYSTEM_FOLDERS.flatMap(path => ['--ro-bind-try', path, path]),
    ...PROGRAM_FOLDERS.flatMap(programFolder),
    ...ETC.flatMap(name => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    // /proc/sys is read-only because the kernel lets root write there even without capabilities.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    // The first process is bubblewrap's. With its memory an agent could make it outlive the run.
    ...['--tmpfs', '/proc/1', '--remount-ro', '/proc/1'],
    ...KERNEL_FILES.map(name => `/proc/${name}`).flatMap(path =>
      existsSync(path) ? ['--ro-bind', '/dev/null', path] : [],
    ),
    ...PRIVATE_FOLDERS.flatMap(path => ['--tmpfs', path]),
    ...mountArguments(mounts, sourceFd),
    ...['--remount-ro', '/', '--chdir', cwd],
  ];
}

function programFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function mountArguments(mounts: readonly Mount[], sourceFd: SandboxPlace['sourceFd']): string[] {
  const system = [...SYSTEM_FOLDERS, ...PROGRAM_FOLDERS];
  const places = [...system];
  const links = new Map<string, string>();
  return mounts.flatMap(mount => {
    const { from, access } = mount;
    if (!isAbsolute(mount.path) || normalize(mount.path) === '/')
      throw new Error(`${mount.path} cannot be a mount of a sandbox`);
    const isCovering = isBelow(mount.path, places.slice(system.length));
    // Paths in the system folders need no mount, because these folders are already mounted read-only.
    if (from === mount.path && access === 'read' && isBelow(from, system) && !isCovering) return [];
    const known = new Set(links.keys());
    const path = isBelow(mount.path, places) ? mount.path : withoutLinks(mount.path, places, links);
    places.push(path);
    const added = [...links].filter(([link]) => !known.has(link));
    return [
      ...added.flatMap(([link, target]) => ['--symlink', target, link]),
      ...mounted({ ...mount, path }, sourceFd),
    ];
  });
}

function mounted(
  { path, from, access, isOptional, isWithoutLinks }: Mount,
  sourceFd: SandboxPlace['sourceFd'],
): string[] {
  if (from === null) return ['--tmpfs', path, ...(access === 'read' ? ['--remount-ro', path] : [])];
  if (isWithoutLinks && sourceFd)
    return [access === 'read' ? '--ro-bind-fd' : '--bind-fd', String(sourceFd(from)), path];
  const option = `${access === 'read' ? '--ro-bind' : '--bind'}${isOptional ? '-try' : ''}`;
  return [option, from, path];
}

const isBelow = (path: string, folders: readonly string[]): boolean =>
  folders.some(folder => path === folder || path.startsWith(`${folder}/`));

/** Maximum number of symbolic links in a path, as in the kernel. */
const MAX_LINKS = 40;

/**
 * Resolves the symbolic links of a path outside all mounts. Collects the links in `links`, so that the sandbox gets
 * them too: programs may use the path with links or the path without them.
 */
function withoutLinks(path: string, places: readonly string[], links: Map<string, string>): string {
  const rest = normalize(path).split('/').filter(Boolean);
  let at = '/';
  for (let followed = 0; rest.length > 0; ) {
    const next = join(at, rest.shift()!);
    // A path inside a mount is resolved by the links in that mount, not by the links of this machine.
    const target = isBelow(at, places) ? null : linkAt(next);
    if (target === null) {
      at = next;
      continue;
    }
    if (++followed > MAX_LINKS) throw new Error(`${path} has too many levels of symbolic links`);
    links.set(next, target);
    rest.unshift(...resolve(dirname(next), target).split('/').filter(Boolean));
    at = '/';
  }
  return at;
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // not a link, or does not exist
  }
}

/** Variables that refer to a socket, a terminal or a session outside the sandbox. */
const OUTSIDE = new Set([
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'SSH_ASKPASS', 'SSH_TTY', 'GPG_AGENT_INFO', 'GPG_TTY', 'GIT_ASKPASS'],
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'WAYLAND_SOCKET', 'XAUTHORITY', 'ICEAUTHORITY', 'SESSION_MANAGER'],
  ...['XDG_RUNTIME_DIR', 'PULSE_SERVER', 'PIPEWIRE_REMOTE', 'KRB5CCNAME', 'GNOME_KEYRING_CONTROL'],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'CONTAINER_HOST', 'NOTIFY_SOCKET', 'LISTEN_FDS', 'LISTEN_PID', 'STY'],
]);
const OUTSIDE_PREFIX = /^(DBUS_|TMUX|VSCODE_)/;
const USER_FOLDERS = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
const PROXIES = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

/**
 * Builds the environment of a sandboxed program. `proxyPort` is the port of the proxy in the room. Null if the network
 * is not limited.
 */
export function sandboxEnvironment(
  env: Readonly<Record<string, string>>,
  { home }: Pick<TurnSandbox, 'home'>,
  proxyPort: number | null,
): Record<string, string> {
  const isKept = ([name, value]: [string, string]) =>
    !OUTSIDE.has(name) &&
    !OUTSIDE_PREFIX.test(name) &&
    !(USER_FOLDERS.includes(name) && !isBelow(value, [home])) &&
    !(proxyPort !== null && /^(all|no)_proxy$/i.test(name));
  const kept = Object.fromEntries(Object.entries(env).filter(isKept));
  // SQUAD_SANDBOX lets the `squad` command explain why it finds no hub.
  const own = { HOME: home, TMPDIR: '/tmp', SQUAD_SANDBOX: '1' };
  if (proxyPort === null) return { ...kept, ...own };
  return {
    ...kept,
    ...own,
    ...Object.fromEntries(PROXIES.map(name => [name, `http://127.0.0.1:${proxyPort}`])),
    // Without NO_PROXY, programs would connect to the hub through the proxy.
    ...{ no_proxy: '127.0.0.1,localhost', NO_PROXY: '127.0.0.1,localhost', NODE_USE_ENV_PROXY: '1' },
  };
}
