/**
 * A seccomp filter against access that namespaces do not prevent: to the kernel's keyrings, where the user's session
 * may keep keys, and to AF_VSOCK sockets, which reach the host of a virtual machine. The filter also refuses io_uring,
 * because io_uring can open sockets without a system call that a filter sees.
 *
 * Process 1 is bubblewrap, with the rights of the agent. The filter keeps the agent from tracing it, because the agent
 * could make it outlive the run, or report an end that did not happen. The filter also refuses setuid programs: outside
 * the sandbox such a program of an agent would run with the rights of the user, for anybody who starts it.
 */
interface Numbers {
  /** Value of AUDIT_ARCH_… for this architecture. */
  arch: number;
  keyrings: readonly number[];
  sockets: readonly number[];
  /** ptrace, process_vm_readv and process_vm_writev. */
  tracing: readonly [ptrace: number, read: number, write: number];
  /** Calls that set the mode of a file, with the position of the mode. */
  modes: readonly Call[];
  /** Calls that open files, with the position of the flags. The mode follows. */
  opens: readonly Call[];
  /** System calls whose arguments a filter cannot read. The filter refuses them, and all numbers from `otherAbi` on. */
  unreadable: readonly number[];
  otherAbi: number | null;
}

type Call = readonly [number: number, argument: number];

const GENERIC: Omit<Numbers, 'arch'> = {
  ...{ keyrings: [217, 218, 219], sockets: [198, 199], tracing: [117, 270, 271] },
  modes: [
    [52, 1], // fchmod
    [53, 2], // fchmodat
    [33, 2], // mknodat
  ],
  opens: [[56, 2]],
  ...{ unreadable: [], otherAbi: null },
};
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, readonly Numbers[]>> = {
  x64: [
    {
      ...{ arch: 0xc000003e, keyrings: [248, 249, 250], sockets: [41, 53], tracing: [101, 310, 311] },
      modes: [
        [90, 1], // chmod
        [91, 1], // fchmod
        [268, 2], // fchmodat
        [85, 1], // creat
        [133, 1], // mknod
        [259, 2], // mknodat
      ],
      opens: [
        [2, 1],
        [257, 2],
      ],
      ...{ unreadable: [], otherAbi: 0x40000000 },
    },
    {
      ...{ arch: 0x40000003, keyrings: [286, 287, 288], sockets: [359, 360], tracing: [26, 347, 348] },
      modes: [
        [15, 1],
        [94, 1],
        [306, 2],
        [8, 1],
        [14, 1],
        [297, 2],
      ],
      opens: [
        [5, 1],
        [295, 2],
      ],
      ...{ unreadable: [102], otherAbi: null },
    },
  ],
  arm64: [
    { arch: 0xc00000b7, ...GENERIC },
    {
      ...{ arch: 0x40000028, keyrings: [309, 310, 311], sockets: [281, 288], tracing: [26, 376, 377] },
      modes: [
        [15, 1],
        [94, 1],
        [333, 2],
        [8, 1],
        [14, 1],
        [324, 2],
      ],
      opens: [
        [5, 1],
        [322, 2],
      ],
      ...{ unreadable: [102], otherAbi: null },
    },
  ],
  riscv64: [{ arch: 0xc00000f3, ...GENERIC }],
};
/** Numbers of system calls that are the same on every architecture. */
const IO_URING_SETUP = 425;
const PIDFD_OPEN = 434;
/** The arguments of `openat2` are in memory, where a filter cannot read them. Programs use `openat` without it. */
const OPENAT2 = 437;
/** The arguments of `pidfd_getfd` do not name the process that it reads from. */
const PIDFD_GETFD = 438;
const FCHMODAT2: Call = [452, 2];
const AF_VSOCK = 40;
const FIRST_PROCESS = 1;
const S_ISUID = 0o4000;
/** O_CREAT and O_TMPFILE. Without these flags, `open` ignores the mode, which may then be any number. */
const CREATES = 0o100 | 0o20000000;

const ALLOW = 0x7fff0000;
const refuse = (errno: number): number => 0x00050000 | errno;
const EPERM = refuse(1);
const ENOSYS = refuse(38);
const EAFNOSUPPORT = refuse(97);

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_BITS = 0x45;
const RETURN = 0x06;
/** Offsets in the kernel's `seccomp_data`. */
const [NUMBER, ARCH] = [0, 4];
/** Offset of the lower half of an argument, on little-endian machines. */
const argumentAt = (position: number): number => 16 + 8 * position;

type Instruction = [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * Builds the filter for bubblewrap's `--seccomp`. Null if the system call numbers of this architecture are not known.
 */
export function syscallFilter(architecture = process.arch): Buffer | null {
  const known = ARCHITECTURES[architecture];
  if (!known) return null;
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCH],
    ...known.flatMap(numbers => {
      const block = filterOf(numbers);
      return [[IF_EQUAL, 0, block.length, numbers.arch] as Instruction, ...block];
    }),
    [RETURN, 0, 0, ENOSYS],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value, at * 8 + 4);
  }
  return bytes;
}

/** Builds the filter for one architecture. Every path through the filter ends with a return. */
function filterOf(numbers: Numbers): Instruction[] {
  const { keyrings, sockets, tracing, modes, opens, unreadable, otherAbi } = numbers;
  const returnIf = (test: number, value: number, result: number): Instruction[] => [
    [test, 0, 1, value],
    [RETURN, 0, 0, result],
  ];
  /** Checks the arguments of one system call. Every other call skips these checks. */
  const inCall = (number: number, checks: Instruction[]): Instruction[] => [
    [IF_EQUAL, 0, checks.length + 1, number],
    ...checks,
    [RETURN, 0, 0, ALLOW],
  ];
  const refused = (position: number, test: number, value: number, result: number): Instruction[] => [
    [LOAD, 0, 0, argumentAt(position)],
    ...returnIf(test, value, result),
  ];
  const [ptrace, ...memory] = tracing;
  const ofProcess: Call[] = [[ptrace, 1], [PIDFD_OPEN, 0], ...memory.map((number): Call => [number, 0])];
  return [
    [LOAD, 0, 0, NUMBER],
    ...(otherAbi === null ? [] : returnIf(IF_AT_LEAST, otherAbi, ENOSYS)),
    ...[...keyrings, PIDFD_GETFD].flatMap(number => returnIf(IF_EQUAL, number, EPERM)),
    ...[...unreadable, IO_URING_SETUP, OPENAT2].flatMap(number => returnIf(IF_EQUAL, number, ENOSYS)),
    ...sockets.flatMap(number => inCall(number, refused(0, IF_EQUAL, AF_VSOCK, EAFNOSUPPORT))),
    ...ofProcess.flatMap(([number, at]) => inCall(number, refused(at, IF_EQUAL, FIRST_PROCESS, EPERM))),
    ...[...modes, FCHMODAT2].flatMap(([number, at]) => inCall(number, refused(at, IF_BITS, S_ISUID, EPERM))),
    ...opens.flatMap(([number, at]) =>
      inCall(number, [
        [LOAD, 0, 0, argumentAt(at)],
        // Skips the three instructions that check the mode.
        [IF_BITS, 0, 3, CREATES],
        ...refused(at + 1, IF_BITS, S_ISUID, EPERM),
      ]),
    ),
    [RETURN, 0, 0, ALLOW],
  ];
}
