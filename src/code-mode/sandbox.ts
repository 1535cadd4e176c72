import type { PipedStart } from '../process/programs/piped-child.ts';

/** Verified by `findSandbox`. */
export interface Sandbox {
  readonly bubblewrap: string;
  /** The command that starts the guest. */
  command(memoryMb: number): PipedStart['argv'];
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
  /** Private memory of the guest before a program starts, most of it only reserved; null if not measured yet. */
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
