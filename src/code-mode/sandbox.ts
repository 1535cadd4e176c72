import type { PipedStart } from '../process/piped-child.ts';

/** A way to run a program where it reaches nothing. Made by `findSandbox`, which has seen it work. */
export interface Sandbox {
  /** What keeps it apart, by its path. */
  readonly bubblewrap: string;
  /** The command that starts the guest. */
  command(memoryMb: number): PipedStart['argv'];
}

export interface SandboxParts {
  bubblewrap: string;
  node: string;
  /** Files that `node` is loaded with, where its loader looks for them. */
  libraries: readonly string[];
  guest: string;
  /** Options that only newer bubblewraps have. */
  extra: readonly string[];
}

/** Where the guest is inside. */
const GUEST = '/guest.cjs';
const NOBODY = '65534';

/**
 * The process boundary is the control: namespaces with an empty root, no network, no other process, no environment and no
 * rights. Node's permissions and the guest's bare realm stand behind it and only make what is inside smaller.
 */
export function createSandbox({ bubblewrap, node, libraries, guest, extra }: SandboxParts): Sandbox {
  const confinement = [
    ...['--unshare-all', '--unshare-user', '--uid', NOBODY, '--gid', NOBODY, ...extra],
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--clearenv', '--cap-drop', 'ALL'],
    ...[...libraries, node].flatMap(file => ['--ro-bind', file, file]),
    ...['--ro-bind', guest, GUEST, '--remount-ro', '/', '--chdir', '/'],
  ];
  return {
    bubblewrap,
    command: memoryMb => [
      bubblewrap,
      ...confinement,
      '--',
      node,
      ...['--permission', `--allow-fs-read=${GUEST}`, '--disallow-code-generation-from-strings'],
      ...['--no-warnings', `--max-old-space-size=${memoryMb}`],
      GUEST,
    ],
  };
}
