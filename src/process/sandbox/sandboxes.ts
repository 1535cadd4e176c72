import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { openWithoutLinks } from '../output/own-folder.ts';
import { descendantsOf, knowsDescendants } from '../table/descendants.ts';
import { SANDBOX_STATUS } from '../turns/turn-record.ts';
import {
  ALLOW_USER_NAMESPACES,
  fileVersion,
  findBubblewrap,
  findSystemProgram,
  INSTALL_BUBBLEWRAP,
  isolationFault,
  withDisabledUserns,
} from './bubblewrap.ts';
import { recordRoom } from './network-record.ts';
import type { RoomTerm } from './room-protocol.ts';
import type { Rooms } from './rooms.ts';
import {
  type Mount,
  NAMESPACES,
  ROOT_NAMES,
  sandboxArguments,
  sandboxEnvironment,
  type TurnSandbox,
} from './sandbox-arguments.ts';
import { syscallFilter } from './syscall-filter.ts';

/** Same fields as `SandboxProblem` in the core. */
export interface SandboxProblem {
  reason: string;
  suggestions: string[];
}

/** How to start the program of a sandboxed turn. */
export interface Confinement {
  /** Words of the command line before the program and its arguments. */
  prefix: string[];
  env: Record<string, string>;
  /** Files to open as file descriptors, from `FIRST_FD` on. */
  files: { path: string; flags: 'r' | 'a'; isWithoutLinks?: boolean }[];
}

export interface Sandboxes {
  /**
   * Returns the reason why turns cannot be sandboxed on this machine, or null if they can be. A successful test is not
   * repeated.
   */
  problem(network: TurnSandbox['network']): Promise<SandboxProblem | null>;
  /** Prepares the sandbox of a turn. Throws if the sandbox is not available; the turn must not start then. */
  confine(turn: ConfinedTurn, folder: string, lasts: RoomTerm): Promise<Confinement>;
}

export interface ConfinedTurn {
  runId: string;
  cwd: string;
  command: { env: Record<string, string> };
  sandbox: TurnSandbox;
}

/** First free file descriptor. The program uses 0 to 2 and the wrapper 3. */
export const FIRST_FD = 4;
/**
 * File in the turn's folder with the arguments of bubblewrap. On the command line they would make the output of `ps`
 * hard to read.
 */
const ARGUMENTS = 'sandbox.args';
const FILTER = 'sandbox.filter';

const MOUNT_FD = '--ro-bind-fd';
/** Folder that every system has, to test whether a mount of an open folder works. */
const SOURCE = '/etc';
const PROOF_TIMEOUT_MS = 30_000;
const OTHERWISE = 'Or run without one: sandbox: off.';

interface Proven {
  bubblewrap: string;
  extra: readonly string[];
  /** Whether it takes the source of a mount as an open file. */
  mountsFds: boolean;
}

interface SandboxesOptions {
  path: string;
  rooms: Rooms | null;
  platform?: NodeJS.Platform;
}

export function createSandboxes({ path, rooms, platform = process.platform }: SandboxesOptions): Sandboxes {
  const proofs = new Map<string, Promise<Proven | SandboxProblem>>();
  const entries = new Map<string, Promise<string | null>>();

  async function proven(): Promise<Proven | SandboxProblem> {
    if (platform !== 'linux')
      return {
        reason: `Sandboxes are made of Linux namespaces by bubblewrap, and this system (${platform}) has neither`,
        suggestions: ['Run Squad on Linux, for example in a virtual machine.', OTHERWISE],
      };
    const bubblewrap = findBubblewrap(path);
    if (bubblewrap === null)
      return {
        reason: 'bubblewrap (bwrap) was not found in PATH',
        suggestions: [INSTALL_BUBBLEWRAP, OTHERWISE],
      };
    const key = fileVersion(bubblewrap);
    const proof = proofs.get(key) ?? prove(bubblewrap);
    proofs.set(key, proof);
    const found = await proof;
    // A failed test is repeated, because the user may install bubblewrap or allow namespaces while the hub runs.
    if ('reason' in found) proofs.delete(key);
    return found;
  }

  /** Finds nsenter and tests it, as bubblewrap is tested. */
  async function provenEntry(bubblewrap: string): Promise<{ nsenter: string } | { fault: string }> {
    const nsenter = findSystemProgram('nsenter', path);
    if (nsenter === null) return { fault: 'nsenter (util-linux) was not found in PATH' };
    const key = fileVersion(nsenter);
    const test = entries.get(key) ?? entryFault(nsenter, bubblewrap);
    entries.set(key, test);
    const fault = await test;
    if (fault === null) return { nsenter };
    entries.delete(key);
    return { fault: `${nsenter} was found, but ${fault}` };
  }

  async function problem(network: TurnSandbox['network']): Promise<SandboxProblem | null> {
    const found = await proven();
    if ('reason' in found) return found;
    if (network === 'full') return null;
    const noRooms = (why: string) => ({
      reason: `A limited network for sandboxes is not available: ${why}`,
      suggestions: ['Use network: full.', OTHERWISE],
    });
    if (!rooms) return noRooms('this hub has no proxy process');
    const entry = await provenEntry(found.bubblewrap);
    if ('fault' in entry) return noRooms(entry.fault);
    return rooms.ready(found.bubblewrap).then(
      () => null,
      (thrown: Error) => noRooms(thrown.message),
    );
  }

  async function confine(
    { runId, cwd, command, sandbox }: ConfinedTurn,
    folder: string,
    lasts: RoomTerm,
  ): Promise<Confinement> {
    const fault = await problem(sandbox.network);
    const found = await proven();
    if (fault) throw new Error(fault.reason);
    if ('reason' in found) throw new Error(found.reason);
    const missing = sandbox.mounts.find(
      ({ from, isOptional }) => from !== null && !isOptional && !existsSync(from),
    );
    if (missing) throw new Error(`${missing.from} is to be mounted into its sandbox and does not exist`);
    const linked = sandbox.mounts.filter(hasLinks);
    const [needed] = linked.filter(({ isOptional }) => !isOptional);
    if (needed) throw new Error(`a link in ${needed.from} leads elsewhere`);
    const filter = syscallFilter();
    // For a command in a terminal a shell opens these files, and a shell cannot refuse to follow links.
    const mountsFds = found.mountsFds && lasts === 'turn';
    const sources: string[] = [];
    const mounts = sandbox.mounts.filter(
      mount => !linked.includes(mount) && (!mount.isWithoutLinks || existsSync(mount.from!)),
    );
    const place = {
      ...{ cwd, statusFd: FIRST_FD + 1, filterFd: filter && FIRST_FD + 2, extra: found.extra },
      sourceFd: mountsFds ? (from: string) => FIRST_FD + (filter ? 3 : 2) + sources.push(from) - 1 : null,
    };
    const args = sandboxArguments({ ...sandbox, mounts }, place);
    if (args.some(arg => arg.includes('\0')))
      throw new Error('a path of its sandbox contains a NUL character');
    const files = {
      ...{ args: join(folder, ARGUMENTS), status: join(folder, SANDBOX_STATUS) },
      filter: join(folder, FILTER),
    };
    writeFileSync(files.args, args.map(arg => `${arg}\0`).join(''), { mode: 0o600 });
    if (filter) writeFileSync(files.filter, filter, { mode: 0o600 });
    const room =
      sandbox.network === 'full'
        ? null
        : await rooms!.open({ runId, folder, hosts: sandbox.hosts, lasts }, found.bubblewrap);
    if (room && lasts === 'turn') recordRoom(folder, room.net);
    const entry = room && (await provenEntry(found.bubblewrap));
    if (entry && 'fault' in entry) throw new Error(entry.fault);
    return {
      prefix: [
        ...(entry ? entering(entry.nsenter, room!) : []),
        found.bubblewrap,
        '--args',
        String(FIRST_FD),
        '--',
      ],
      env: sandboxEnvironment(command.env, sandbox, room?.proxyPort ?? null),
      files: [
        { path: files.args, flags: 'r' },
        { path: files.status, flags: 'a' },
        ...(filter ? [{ path: files.filter, flags: 'r' as const }] : []),
        ...sources.map(path => ({ path, flags: 'r' as const, isWithoutLinks: true })),
      ],
    };
  }

  return { problem, confine };
}

/** True for a mount that must not follow links, but whose path contains one. */
const hasLinks = ({ from, isWithoutLinks }: Mount): boolean =>
  from !== null && isWithoutLinks === true && existsSync(from) && realpathSync(from) !== from;

/** Command that starts a program in other user and network namespaces, named by their files. */
const entering = (nsenter: string, { user, net }: { user: string; net: string }): string[] => [
  ...[nsenter, `--user=${user}`, `--net=${net}`, '--preserve-credentials', '--'],
];

async function prove(bubblewrap: string): Promise<Proven | SandboxProblem> {
  if (!knowsDescendants())
    return {
      reason: 'This kernel does not list child processes, so a sandbox cannot be verified',
      suggestions: [OTHERWISE],
    };
  for (const mountsFds of [true, false]) {
    const { result, extra } = await withDisabledUserns(options => test(bubblewrap, options, mountsFds));
    if (typeof result !== 'string') return { bubblewrap, extra, mountsFds };
    if (mountsFds && result.includes(MOUNT_FD)) continue;
    const isOld = /unknown option/i.test(result);
    return {
      reason: `${bubblewrap} was found, but ${result}`,
      suggestions: [
        isOld ? `This version is too old. ${INSTALL_BUBBLEWRAP}` : ALLOW_USER_NAMESPACES,
        OTHERWISE,
      ],
    };
  }
  throw new Error('unreachable');
}

/**
 * Starts a shell in a sandbox with the same options as turns and inspects the shell's process from outside. Returns
 * true, or the reason why the shell is not isolated.
 */
async function test(
  bubblewrap: string,
  extra: readonly string[],
  mountsFds: boolean,
): Promise<true | string> {
  const filter = syscallFilter();
  const source = mountsFds ? openWithoutLinks(SOURCE) : null;
  const place = {
    cwd: '/tmp',
    statusFd: 3,
    filterFd: filter && 4,
    extra,
    sourceFd: source === null ? null : () => 5,
  };
  const mounts: Mount[] =
    source === null ? [] : [{ path: '/tmp/source', from: SOURCE, access: 'read', isWithoutLinks: true }];
  const args = sandboxArguments({ mounts, home: '/tmp', network: 'full', hosts: [] }, place);
  try {
    const fault = await whileRunning([bubblewrap, ...args, '--'], { filter, source }, async pid => {
      const inside = descendantsOf(pid).at(-1) ?? pid;
      return (
        isolationFault(inside, { namespaces: NAMESPACES, root: ROOT_NAMES }) ??
        mountFault(inside) ??
        descriptorFault(inside) ??
        filterFault(inside, filter)
      );
    });
    return fault ?? true;
  } finally {
    if (source !== null) closeSync(source);
  }
}

/** Returns the reason why a program that this nsenter starts is not in the network of a sandbox. */
const entryFault = async (nsenter: string, bubblewrap: string): Promise<string | null> =>
  whileRunning(
    [bubblewrap, '--unshare-user', '--unshare-net', '--die-with-parent', '--dev-bind', '/', '/', '--'],
    {},
    async pid => {
      const room = descendantsOf(pid).at(-1) ?? pid;
      const namespaces = { user: `/proc/${room}/ns/user`, net: `/proc/${room}/ns/net` };
      return whileRunning(entering(nsenter, namespaces), {}, async entered => {
        const inside = descendantsOf(entered).at(-1) ?? entered;
        const isIn = (name: 'user' | 'net') =>
          readlinkSync(`/proc/${inside}/ns/${name}`) === readlinkSync(namespaces[name]);
        return isIn('user') && isIn('net') ? null : 'its programs are not in the network that it is to enter';
      });
    },
  );

/** Starts a shell by this command and inspects it. Returns what `inspect` finds, or why the shell did not start. */
async function whileRunning(
  [program, ...args]: string[],
  { filter = null, source = null }: { filter?: Buffer | null; source?: number | null },
  inspect: (pid: number) => Promise<string | null>,
): Promise<string | null> {
  const child = spawn(program!, [...args, '/bin/sh', '-c', 'echo ready; read line'], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', source ?? 'ignore'],
  });
  const filterPipe = child.stdio[4] as Writable;
  filterPipe.on('error', () => {});
  filterPipe.end(filter ?? undefined);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let stderr = '';
  child.stderr!.on('data', chunk => {
    stderr += chunk;
  });
  const failed = (why: string) => resolve(`no program could be started in it: ${why}`);
  child.once('error', error => failed(error.message));
  child.once('close', () => failed(stderr.trim().split('\n')[0] || 'it ended without a message'));
  child.stdin!.on('error', () => {});
  child.stdout!.once('data', () => {
    inspect(child.pid!).then(resolve, (thrown: Error) => resolve(`it cannot be verified: ${thrown.message}`));
  });
  const timer = setTimeout(
    () => failed(`it was not ready after ${PROOF_TIMEOUT_MS / 1000} s`),
    PROOF_TIMEOUT_MS,
  );
  const found = await promise;
  clearTimeout(timer);
  child.kill('SIGKILL');
  return found;
}

/**
 * Why programs in the sandbox could reach every file of this machine: the source of a mount is still open. Null if no
 * source is open.
 */
function descriptorFault(pid: number): string | null {
  const folder = `/proc/${pid}/fd`;
  const isOpen = readdirSync(folder).some(fd => readlinkSync(join(folder, fd)) === SOURCE);
  return isOpen ? 'its programs are not isolated: they inherit the folders that are mounted' : null;
}

function filterFault(pid: number, filter: Buffer | null): string | null {
  const isFiltered = /^Seccomp:\t2$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return filter === null || isFiltered
    ? null
    : 'its programs are not isolated: their system calls are not filtered';
}

/**
 * Why programs in the sandbox could write to this machine. Null if every mount is read-only, except file systems in
 * memory and devices.
 */
function mountFault(pid: number): string | null {
  for (const line of readFileSync(`/proc/${pid}/mountinfo`, 'utf8').trim().split('\n')) {
    const [, , , , place = '', options = ''] = line.split(' ');
    const type = line.split(' - ')[1]?.split(' ')[0] ?? '';
    const isOwn = ['tmpfs', 'proc', 'devpts', 'mqueue'].includes(type) || place.startsWith('/dev/');
    if (!isOwn && !options.split(',').includes('ro'))
      return `its programs are not isolated: they can write to ${place} of this machine`;
    if (place === '/' && (type !== 'tmpfs' || !options.split(',').includes('ro')))
      return 'its programs are not isolated: they can write to the root folder';
  }
  return null;
}
