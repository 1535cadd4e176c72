import type { PipedStart } from '../process/programs/piped-child.ts';

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
  /** Where it is inside. */
  nodeInside: string;
  /** Files that `node` is loaded with, where its loader looks for them. */
  libraries: readonly string[];
  guest: string;
  /** Options that only newer bubblewraps have. */
  extra: readonly string[];
  /** Private memory that the guest has before a program begins, most of it reserved only; null: not measured yet. */
  dataMb: number | null;
}

/** Where the guest is inside. */
export const GUEST = '/guest.cjs';
const NOBODY = '65534';
/** The kernel refuses memory a little above the limit, so that the watchdog can usually report it first. */
const DATA_SLACK_MB = 64;

/**
 * The process boundary is the control: namespaces with an empty root, no network, no other process, no environment and no
 * rights. Node's permissions and the guest's bare realm stand behind it and only make what is inside smaller.
 */
export function createSandbox(parts: SandboxParts): Sandbox {
  const { bubblewrap, node, nodeInside, libraries, guest, extra, dataMb } = parts;
  const confinement = [
    ...[
      '--unshare-all',
      '--unshare-user',
      '--uid',
      NOBODY,
      '--gid',
      NOBODY,
      '--hostname',
      'sandbox',
      ...extra,
    ],
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

/** A shell that sets RLIMIT_DATA and becomes the program that follows. V8 reserves too much address space for RLIMIT_AS. */
const limitedData = (mb: number | null): [string, ...string[]] => [
  '/bin/sh',
  '-c',
  'ulimit -d "$0" && exec "$@"',
  mb === null ? 'unlimited' : String(mb * 1024),
];
