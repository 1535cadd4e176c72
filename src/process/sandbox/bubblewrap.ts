import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { findExecutable } from '../programs/find-executable.ts';

export const INSTALL_BUBBLEWRAP =
  'Install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap (Arch).';
export const ALLOW_USER_NAMESPACES =
  'Allow user namespaces for bwrap, if this is a container or they are turned off (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns).';

/**
 * Option of bubblewrap that forbids new user namespaces inside the sandbox. The sandbox is safe without the option too,
 * because programs inside have no privileges. Versions of bubblewrap before 0.8 do not know the option.
 */
export const DISABLE_USERNS = '--disable-userns';

/** Permission bits with which the group or other users may write to a file. */
const OTHERS_WRITE = 0o022;

export const findBubblewrap = (path: string): string | null => findSystemProgram('bwrap', path);

/**
 * Finds the first program of this name in PATH that only root can replace, or else the first one. An agent may be able
 * to write to a folder of the user that comes early in PATH. A fake program there could pass the test and misbehave
 * later.
 */
export function findSystemProgram(name: 'bwrap' | 'nsenter', path: string): string | null {
  const found = path.split(':').flatMap(folder => {
    const program = findExecutable(name, { path: folder, cwd: '/' });
    return program.status === 'found' ? [realpathSync(program.path)] : [];
  });
  return found.find(onlyRootCanReplace) ?? found[0] ?? null;
}

function onlyRootCanReplace(path: string): boolean {
  const { uid, mode } = statSync(path);
  if (uid !== 0 || (mode & OTHERS_WRITE) !== 0) return false;
  return path === '/' || onlyRootCanReplace(dirname(path));
}

/**
 * Returns a text that changes when the file is replaced. The result of a test holds only for the file that was
 * tested.
 */
export function fileVersion(path: string): string {
  const { ino, size, mtimeMs, ctimeMs } = statSync(path);
  return [path, ino, size, mtimeMs, ctimeMs].join('\0');
}

/**
 * Tries to create a sandbox with `--disable-userns`. Tries again without the option if bubblewrap does not know it.
 * `attempt` returns a text if it fails.
 */
export async function withDisabledUserns<T>(
  attempt: (extra: readonly string[]) => Promise<T | string>,
): Promise<{ result: T | string; extra: readonly string[] }> {
  const result = await attempt([DISABLE_USERNS]);
  if (typeof result !== 'string' || !result.includes(DISABLE_USERNS))
    return { result, extra: [DISABLE_USERNS] };
  return { result: await attempt([]), extra: [] };
}

export interface Isolation {
  /** Namespaces that must be different from those of the hub. */
  namespaces: readonly string[];
  /** Names that the root folder of the sandbox may contain. Any other name is a folder of this machine. */
  root: ReadonlySet<string>;
}

/**
 * Returns the reason why a process is not isolated, or null if it is isolated. Only reports of the kernel count,
 * because a fake bubblewrap could claim anything.
 */
export function isolationFault(pid: number, { namespaces, root }: Isolation): string | null {
  const inside = `/proc/${pid}`;
  try {
    const isShared = (name: string) =>
      readlinkSync(`${inside}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`);
    const shared = namespaces.filter(isShared);
    if (shared.length > 0)
      return `its programs are not isolated: they share the namespaces ${shared.join(', ')} with this machine`;
    const seen = readdirSync(`${inside}/root`).filter(name => !root.has(name));
    if (seen.length > 0) return `its programs are not isolated: they see /${seen[0]} of this machine`;
    const status = readFileSync(`${inside}/status`, 'utf8');
    if (!/^NoNewPrivs:\t1$/m.test(status) || !/^CapEff:\t0+$/m.test(status))
      return 'its programs are not isolated: they keep privileges';
    return null;
  } catch (thrown) {
    return `its isolation cannot be verified: ${(thrown as Error).message}`;
  }
}
