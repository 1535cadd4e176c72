import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findExecutable } from '../process/programs/find-executable.ts';
import { runProgram } from '../process/programs/run-program.ts';
import { descendantsOf, knowsDescendants } from '../process/table/descendants.ts';
import { startGuest } from './guest-process.ts';
import { createSandbox, GUEST, type Sandbox, type SandboxParts } from './sandbox.ts';

const LOADER_CACHE = '/etc/ld.so.cache';
const LOADER_TIMEOUT_MS = 10_000;

/** The files a program is loaded with, named as its loader finds them. Null where the loader does not tell (musl). */
export async function sharedLibraries(program: string): Promise<string[] | null> {
  // Asked this way the loader lists what it would load, and the program itself never runs.
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

const INSTALL =
  'Install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap (Arch).';
const WITHOUT = 'Or turn code mode off: then the model calls its tools one by one.';
/** A start on a machine that is busy with other things. */
const PROOF_MS = 30_000;
const PROOF_MEMORY_MB = 256;
/** Group and others. */
const OTHERS_WRITE = 0o022;
/** Closes a way that nothing inside can reach anyway; older ones do not know it. */
const NEWER = '--disable-userns';

const proofs = new Map<string, Promise<Sandbox | SandboxMissing>>();

/**
 * What this machine has to run programs in, seen working once for each process. `guest`: the script that ships beside the
 * running program.
 */
export function findSandbox(
  env: Readonly<Record<string, string | undefined>>,
  guest: string = join(__dirname, 'code-guest.cjs'),
): Promise<Sandbox | SandboxMissing> {
  if (process.platform !== 'linux')
    return told(
      'Code mode needs a sandbox, and Squad knows none for this system: its own is bubblewrap, which only Linux has.',
      [WITHOUT],
    );
  const found = findBubblewrap(env.PATH ?? '');
  if (found === null)
    return told('Code mode needs a sandbox: bubblewrap (bwrap) was not found in PATH.', [INSTALL, WITHOUT]);
  const key = `${found}\0${guest}`;
  const proof = proofs.get(key) ?? proveSandbox(found, guest);
  proofs.set(key, proof);
  return proof;
}

/**
 * The first bubblewrap in PATH that only root can replace, else the first one. An agent can write to folders of the user that come
 * early in PATH, and a program placed there can behave well while it is proven.
 */
function findBubblewrap(path: string): string | null {
  const found = path.split(':').flatMap(folder => {
    const program = findExecutable('bwrap', { path: folder, cwd: '/' });
    return program.status === 'found' ? [realpathSync(program.path)] : [];
  });
  return found.find(onlyRootCanReplace) ?? found[0] ?? null;
}

function onlyRootCanReplace(path: string): boolean {
  const { uid, mode } = statSync(path);
  if (uid !== 0 || (mode & OTHERS_WRITE) !== 0) return false;
  return path === '/' || onlyRootCanReplace(dirname(path));
}

/** Starts a guest with this program and looks at how it is kept apart. */
async function proveSandbox(bubblewrap: string, guest: string): Promise<Sandbox | SandboxMissing> {
  const node = process.execPath;
  const libraries = await sharedLibraries(node);
  if (!libraries)
    return told(`Code mode needs a sandbox: what ${node} is loaded with could not be told.`, [
      'Use a Node.js that is built for glibc.',
      WITHOUT,
    ]);
  if (!knowsDescendants())
    return told('Code mode needs a sandbox: this kernel keeps no lists of children to watch memory by.', [
      WITHOUT,
    ]);
  // A node that finds libraries beside itself works at its own place only.
  const isMovable = !libraries.some(file => file.startsWith(dirname(dirname(node))));
  const parts = { bubblewrap, node, nodeInside: isMovable ? '/node' : node, libraries, guest, dataMb: null };
  let extra = [NEWER];
  let tried = await tryOut({ ...parts, extra });
  if (typeof tried === 'string' && tried.includes(NEWER)) {
    extra = [];
    tried = await tryOut({ ...parts, extra });
  }
  if (typeof tried === 'number') return createSandbox({ ...parts, extra, dataMb: tried });
  return told(`Code mode needs a sandbox: ${bubblewrap} is there, but ${tried}`, [
    'In a container or where user namespaces are turned off (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns): allow them for bwrap.',
    WITHOUT,
  ]);
}

/** Starts a guest and inspects it from outside. Returns why it is not isolated or did not start, or its private memory in MB. */
async function tryOut(parts: SandboxParts): Promise<string | number> {
  const guest = startGuest(createSandbox(parts).command(PROOF_MEMORY_MB));
  const { promise, resolve } = Promise.withResolvers<string | number>();
  const failed = (why: string) => resolve(`nothing could be started in it: ${why}`);
  const timer = setTimeout(() => failed(`it was not up after ${PROOF_MS / 1000} s`), PROOF_MS);
  guest.hear({
    message: () => resolve(inspect(guest.pid!, parts)),
    nonsense: () => failed('it said something that no guest says'),
    gone: ({ failure }, complaint) =>
      failed(failure?.message ?? (complaint.trim().split('\n')[0] || 'it ended without a word')),
  });
  guest.send({ type: 'prepare' });
  const found = await promise;
  clearTimeout(timer);
  await guest.end();
  return found;
}

const NAMESPACES = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts'];

/** By the kernel's own account, because a program in the place of bubblewrap can claim anything. */
function inspect(pid: number, { libraries, nodeInside }: SandboxParts): string | number {
  const inside = `/proc/${[pid, ...descendantsOf(pid)].at(-1)!}`;
  try {
    const isShared = (name: string) =>
      readlinkSync(`${inside}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`);
    const shared = NAMESPACES.filter(isShared);
    if (shared.length > 0)
      return `what it starts is not isolated: it shares ${shared.join(', ')} with this machine`;
    const known = new Set([...libraries, nodeInside, GUEST].map(file => file.split('/')[1]));
    const seen = readdirSync(`${inside}/root`).filter(name => !known.has(name));
    if (seen.length > 0) return `what it starts is not isolated: it sees /${seen[0]} of this machine`;
    const status = readFileSync(`${inside}/status`, 'utf8');
    if (!/^NoNewPrivs:\t1$/m.test(status) || !/^CapEff:\t0+$/m.test(status))
      return 'what it starts is not isolated: it keeps rights';
    const dataKb = Number(/^VmData:\s*(\d+) kB$/m.exec(status)?.[1]);
    return Number.isFinite(dataKb) ? Math.ceil(dataKb / 1024) : 'the kernel does not tell its memory';
  } catch (thrown) {
    return `its isolation cannot be verified: ${(thrown as Error).message}`;
  }
}

const told = async (missing: string, suggestions: string[]): Promise<SandboxMissing> => ({
  missing,
  suggestions,
});
