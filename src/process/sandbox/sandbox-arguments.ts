import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';

/** Structurally the core's `Mount`. */
export interface Mount {
  path: string;
  from: string | null;
  access: 'read' | 'write';
  isOptional?: boolean;
}

/** Structurally the core's `TurnSandbox`. */
export interface TurnSandbox {
  mounts: Mount[];
  home: string;
  network: 'full' | 'models' | 'none';
  hosts: string[];
}

/** Namespaces of every sandbox. That of the network comes with a room. */
export const NAMESPACES = ['user', 'mnt', 'pid', 'ipc', 'uts'] as const;

const SYSTEM_FOLDERS = ['/usr', '/opt', '/nix'];
/** Links to folders of /usr, or folders on older systems. */
const PROGRAM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const PRIVATE_FOLDERS = ['/tmp', '/var/tmp', '/run'];

/** Named one by one: the rest of /etc can hold passwords and keys, which root could read. */
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

/** Names in the root folder of a sandbox without mounts of its own. */
export const ROOT_NAMES: ReadonlySet<string> = new Set(
  [...SYSTEM_FOLDERS, ...PROGRAM_FOLDERS, ...PRIVATE_FOLDERS, '/etc', '/proc', '/dev'].map(
    path => path.split('/')[1]!,
  ),
);

export interface SandboxPlace {
  cwd: string;
  /** Descriptor on which bubblewrap reports that the program ran. */
  statusFd: number;
  /** Options that only newer versions have. */
  extra: readonly string[];
}

/** Arguments of bubblewrap, before the program. Throws for a mount that cannot be one. */
export function sandboxArguments({ mounts }: TurnSandbox, { cwd, statusFd, extra }: SandboxPlace): string[] {
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
    // A group of its own, so that no signal of the agent to its group reaches the wrapper.
    ...['--new-session', '--json-status-fd', String(statusFd)],
    ...SYSTEM_FOLDERS.flatMap(path => ['--ro-bind-try', path, path]),
    ...PROGRAM_FOLDERS.flatMap(programFolder),
    ...ETC.flatMap(name => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...PRIVATE_FOLDERS.flatMap(path => ['--tmpfs', path]),
    ...mountArguments(mounts),
    ...['--remount-ro', '/', '--chdir', cwd],
  ];
}

function programFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function mountArguments(mounts: readonly Mount[]): string[] {
  const system = [...SYSTEM_FOLDERS, ...PROGRAM_FOLDERS];
  const places = [...system];
  const links = new Map<string, string>();
  return mounts.flatMap(mount => {
    const { from, access, isOptional } = mount;
    if (!isAbsolute(mount.path) || normalize(mount.path) === '/')
      throw new Error(`${mount.path} cannot be a mount of a sandbox`);
    const isCovering = isBelow(mount.path, places.slice(system.length));
    // It is there already.
    if (from === mount.path && access === 'read' && isBelow(from, system) && !isCovering) return [];
    const known = new Set(links.keys());
    const path = isBelow(mount.path, places) ? mount.path : withoutLinks(mount.path, places, links);
    places.push(path);
    const added = [...links].filter(([link]) => !known.has(link));
    return [
      ...added.flatMap(([link, target]) => ['--symlink', target, link]),
      ...mounted(path, from, access, isOptional),
    ];
  });
}

function mounted(path: string, from: string | null, access: Mount['access'], isOptional = false): string[] {
  if (from === null) return ['--tmpfs', path, ...(access === 'read' ? ['--remount-ro', path] : [])];
  const option = `${access === 'read' ? '--ro-bind' : '--bind'}${isOptional ? '-try' : ''}`;
  return [option, from, path];
}

const isBelow = (path: string, folders: readonly string[]): boolean =>
  folders.some(folder => path === folder || path.startsWith(`${folder}/`));

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/**
 * The path as the system resolves it, for a place outside all mounts. The links on the way are collected, to be made inside too:
 * programs know the folder by either path.
 */
function withoutLinks(path: string, places: readonly string[], links: Map<string, string>): string {
  const rest = normalize(path).split('/').filter(Boolean);
  let at = '/';
  for (let followed = 0; rest.length > 0; ) {
    const next = join(at, rest.shift()!);
    // Inside a mount the links of that mount count, not those of this machine.
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
    return null; // no link, or nothing there
  }
}

/** Variables that name a socket, a terminal or a session outside. */
const OUTSIDE = new Set([
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'SSH_ASKPASS', 'SSH_TTY', 'GPG_AGENT_INFO', 'GPG_TTY', 'GIT_ASKPASS'],
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'WAYLAND_SOCKET', 'XAUTHORITY', 'ICEAUTHORITY', 'SESSION_MANAGER'],
  ...['XDG_RUNTIME_DIR', 'PULSE_SERVER', 'PIPEWIRE_REMOTE', 'KRB5CCNAME', 'GNOME_KEYRING_CONTROL'],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'CONTAINER_HOST', 'NOTIFY_SOCKET', 'LISTEN_FDS', 'LISTEN_PID', 'STY'],
]);
const OUTSIDE_PREFIX = /^(DBUS_|TMUX|VSCODE_)/;
const USER_FOLDERS = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
const PROXIES = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];

/** The environment inside. `proxyPort`: the way out of a room. */
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
  const own = { HOME: home, TMPDIR: '/tmp' };
  if (proxyPort === null) return { ...kept, ...own };
  return {
    ...kept,
    ...own,
    ...Object.fromEntries(PROXIES.map(name => [name, `http://127.0.0.1:${proxyPort}`])),
    // Otherwise programs ask the proxy for the hub.
    ...{ no_proxy: '127.0.0.1,localhost', NO_PROXY: '127.0.0.1,localhost', NODE_USE_ENV_PROXY: '1' },
  };
}
