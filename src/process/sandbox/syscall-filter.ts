/**
 * A seccomp filter against access that namespaces do not prevent: to the kernel's keyrings, where the user's session
 * may keep keys, and to AF_VSOCK sockets, which reach the host of a virtual machine. The filter also refuses io_uring,
 * because io_uring can open sockets without a system call that a filter sees.
 */
interface Numbers {
  /** Value of AUDIT_ARCH_… for this architecture. */
  arch: number;
  keyrings: readonly number[];
  sockets: readonly number[];
  /** System calls whose arguments a filter cannot read. The filter refuses them, and all numbers from `otherAbi` on. */
  unreadable: readonly number[];
  otherAbi: number | null;
}

const GENERIC = { keyrings: [217, 218, 219], sockets: [198, 199], unreadable: [], otherAbi: null };
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, readonly Numbers[]>> = {
  x64: [
    { arch: 0xc000003e, keyrings: [248, 249, 250], sockets: [41, 53], unreadable: [], otherAbi: 0x40000000 },
    { arch: 0x40000003, keyrings: [286, 287, 288], sockets: [359, 360], unreadable: [102], otherAbi: null },
  ],
  arm64: [
    { arch: 0xc00000b7, ...GENERIC },
    { arch: 0x40000028, keyrings: [309, 310, 311], sockets: [281, 288], unreadable: [102], otherAbi: null },
  ],
  riscv64: [{ arch: 0xc00000f3, ...GENERIC }],
};
/** Number of the system call `io_uring_setup`, which is the same on every architecture. */
const IO_URING_SETUP = 425;
const AF_VSOCK = 40;

const ALLOW = 0x7fff0000;
const refuse = (errno: number): number => 0x00050000 | errno;
const EPERM = refuse(1);
const ENOSYS = refuse(38);
const EAFNOSUPPORT = refuse(97);

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;
/**
 * Offsets in the kernel's `seccomp_data`. The offset of the first argument is that of its lower half on little-endian
 * machines.
 */
const [NUMBER, ARCH, FIRST_ARGUMENT] = [0, 4, 16];

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
function filterOf({ keyrings, sockets, unreadable, otherAbi }: Numbers): Instruction[] {
  const returnIf = (test: number, value: number, result: number): Instruction[] => [
    [test, 0, 1, value],
    [RETURN, 0, 0, result],
  ];
  return [
    [LOAD, 0, 0, NUMBER],
    ...(otherAbi === null ? [] : returnIf(IF_AT_LEAST, otherAbi, ENOSYS)),
    ...keyrings.flatMap(number => returnIf(IF_EQUAL, number, EPERM)),
    ...[...unreadable, IO_URING_SETUP].flatMap(number => returnIf(IF_EQUAL, number, ENOSYS)),
    ...sockets.flatMap((number): Instruction[] => [
      [IF_EQUAL, 0, 4, number],
      [LOAD, 0, 0, FIRST_ARGUMENT],
      ...returnIf(IF_EQUAL, AF_VSOCK, EAFNOSUPPORT),
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, ALLOW],
  ];
}
