import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ProgramStart, runProgram } from '../process/programs/run-program.ts';
import {
  ALLOW_USER_NAMESPACES,
  fileVersion,
  findBubblewrap,
  INSTALL_BUBBLEWRAP,
  isolationFault,
  withDisabledUserns,
} from '../process/sandbox/bubblewrap.ts';
import { descendantsOf, knowsDescendants } from '../process/table/descendants.ts';
import { startGuest } from './guest-process.ts';

/** A sandbox that `findSandbox` has tested. */
export interface Sandbox {
  readonly bubblewrap: string;
  command(memoryMb: number): ProgramStart['argv'];
}

export interface SandboxParts {
  bubblewrap: string;
  node: string;
  /** Path of `node` inside the sandbox. */
  nodeInside: string;
  /** Shared libraries of `node`, at the paths where its loader looks for them. */
  libraries: readonly string[];
  guest: string;
  /** Options that only newer versions of bubblewrap have. */
  extra: readonly string[];
  /** Private memory of the guest before a program starts, most of it only reserved. Null if not measured yet. */
  dataMb: number | null;
}

/** Path of the guest script inside the sandbox. */
export const GUEST = '/guest.cjs';
const NOBODY = '65534';
/** The kernel refuses memory a little above the limit, so that the watchdog can usually report it first. */
const DATA_SLACK_MB = 64;

/**
 * The process boundary is the security control: namespaces with an empty root, no network, no other process, no environment and
 * no privileges. Node's permissions and the guest's bare realm only reduce what a program finds inside.
 */
export function createSandbox(parts: SandboxParts): Sandbox {
  const { bubblewrap, node, nodeInside, libraries, guest, extra, dataMb } = parts;
  const confinement = [
    ...['--unshare-all', '--unshare-user', '--uid', NOBODY, '--gid', NOBODY],
    ...['--hostname', 'sandbox', ...extra],
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--clearenv', '--cap-drop', 'ALL'],
    ...libraries.flatMap(file => ['--ro-bind', file, file]),
    ...['--ro-bind', node, nodeInside],
    ...['--ro-bind', guest, GUEST, '--remount-ro', '/', '--chdir', '/'],
  ];
  return {
    bubblewrap,
    command: memoryMb => [
      ...limitedData(dataMb === null ? null : dataMb + memoryMb + DATA_SLACK_MB),
      bubblewrap,
      ...confinement,
      '--',
      nodeInside,
      ...['--permission', `--allow-fs-read=${GUEST}`, '--disallow-code-generation-from-strings'],
      ...['--no-warnings', `--max-old-space-size=${memoryMb}`],
      GUEST,
    ],
  };
}

/** A shell that sets RLIMIT_DATA and then execs the command. V8 reserves too much address space for RLIMIT_AS. */
const limitedData = (mb: number | null): [string, ...string[]] => [
  '/bin/sh',
  '-c',
  'ulimit -d "$0" && exec "$@"',
  mb === null ? 'unlimited' : String(mb * 1024),
];

const LOADER_CACHE = '/etc/ld.so.cache';
const LOADER_TIMEOUT_MS = 10_000;

/** The shared libraries of a program, at the paths where its loader finds them. Null if the loader cannot list them (musl). */
export async function sharedLibraries(program: string): Promise<string[] | null> {
  // With this variable the loader lists the libraries and does not run the program.
  const { code, stdout } = await runProgram({
    argv: [program, '--version'],
    cwd: '/',
    env: { LD_TRACE_LOADED_OBJECTS: '1' },
    limitMs: LOADER_TIMEOUT_MS,
    maxBytes: 1024 * 1024,
  });
  const files = [...stdout.toString('utf8').matchAll(/^\t(?:.* => )?(\/.*) \(0x[0-9a-f]+\)$/gm)].map(
    ([, file]) => file!,
  );
  if (code !== 0 || files.length === 0) return null;
  return existsSync(LOADER_CACHE) ? [...files, LOADER_CACHE] : files;
}

export interface SandboxMissing {
  missing: string;
  suggestions: string[];
}

const TURN_OFF = 'Or turn code mode off: the model then calls its tools one by one.';
/** Timeout for starting a guest, even on a busy machine. */
const VERIFY_TIMEOUT_MS = 30_000;
const VERIFY_MEMORY_MB = 256;

const verified = new Map<string, Promise<Sandbox | SandboxMissing>>();

/** Finds a sandbox and verifies it, once per process. `guest`: the guest script, which ships next to this program. */
export function findSandbox(
  env: Readonly<Record<string, string | undefined>>,
  guest: string = join(__dirname, 'code-guest.cjs'),
): Promise<Sandbox | SandboxMissing> {
  if (process.platform !== 'linux')
    return missing('Code mode needs a sandbox, which Squad has only on Linux (bubblewrap).', [TURN_OFF]);
  const found = findBubblewrap(env.PATH ?? '');
  if (found === null)
    return missing('Code mode needs a sandbox: bubblewrap (bwrap) was not found in PATH.', [
      INSTALL_BUBBLEWRAP,
      TURN_OFF,
    ]);
  const key = `${fileVersion(found)}\0${guest}`;
  const proof = verified.get(key) ?? verifySandbox(found, guest);
  verified.set(key, proof);
  return proof;
}

/** Starts a guest with this bubblewrap and checks that it is isolated. */
async function verifySandbox(bubblewrap: string, guest: string): Promise<Sandbox | SandboxMissing> {
  const node = process.execPath;
  const libraries = await sharedLibraries(node);
  if (!libraries)
    return missing(`Code mode needs a sandbox: the shared libraries of ${node} could not be listed.`, [
      'Use a Node.js that is built for glibc.',
      TURN_OFF,
    ]);
  if (!knowsDescendants())
    return missing(
      'Code mode needs a sandbox: this kernel does not list child processes, so memory cannot be limited.',
      [TURN_OFF],
    );
  // A `node` that finds its libraries relative to its own path cannot be mounted at another path.
  const isMovable = !libraries.some(file => file.startsWith(dirname(dirname(node))));
  const parts = { bubblewrap, node, nodeInside: isMovable ? '/node' : node, libraries, guest, dataMb: null };
  const { result, extra } = await withDisabledUserns(extra => testSandbox({ ...parts, extra }));
  if (typeof result === 'number') return createSandbox({ ...parts, extra, dataMb: result });
  return missing(`Code mode needs a sandbox: ${bubblewrap} was found, but ${result}`, [
    ALLOW_USER_NAMESPACES,
    TURN_OFF,
  ]);
}

/** Returns the private memory of an isolated guest in MB, or why the guest is not isolated or did not start. */
async function testSandbox(parts: SandboxParts): Promise<string | number> {
  const guest = startGuest(createSandbox(parts).command(VERIFY_MEMORY_MB));
  const { promise, resolve } = Promise.withResolvers<string | number>();
  const failed = (why: string) => resolve(`no program could be started in it: ${why}`);
  const timer = setTimeout(
    () => failed(`it was not ready after ${VERIFY_TIMEOUT_MS / 1000} s`),
    VERIFY_TIMEOUT_MS,
  );
  guest.listen({
    message: () => resolve(inspect(guest.pid!, parts)),
    invalid: () => failed('it sent an invalid message'),
    exited: ({ failure }, stderr) =>
      failed(failure?.message ?? (stderr.trim().split('\n')[0] || 'it ended without a message')),
  });
  guest.send({ type: 'prepare' });
  const found = await promise;
  clearTimeout(timer);
  await guest.end();
  return found;
}

const NAMESPACES = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts'];

function inspect(pid: number, { libraries, nodeInside }: SandboxParts): string | number {
  const inside = [pid, ...descendantsOf(pid)].at(-1)!;
  const root = new Set([...libraries, nodeInside, GUEST].map(file => file.split('/')[1]!));
  const fault = isolationFault(inside, { namespaces: NAMESPACES, root });
  if (fault !== null) return fault;
  try {
    const status = readFileSync(`/proc/${inside}/status`, 'utf8');
    const dataKb = Number(/^VmData:\s*(\d+) kB$/m.exec(status)?.[1]);
    return Number.isFinite(dataKb) ? Math.ceil(dataKb / 1024) : 'the kernel does not report its memory';
  } catch (thrown) {
    return `its memory cannot be measured: ${(thrown as Error).message}`;
  }
}

const missing = async (missing: string, suggestions: string[]): Promise<SandboxMissing> => ({
  missing,
  suggestions,
});
