import { expect, test } from 'vitest';
import { syscallFilter } from './syscall-filter.ts';

/** Runs the filter as the kernel does. */
function resultOf(program: Buffer, call: { arch: number; number: number; args?: readonly number[] }): string {
  const data = new Map([
    [0, call.number],
    [4, call.arch],
    ...Array.from({ length: 6 }, (_, at) => [16 + 8 * at, call.args?.[at] ?? 0] as const),
  ]);
  for (let at = 0, loaded = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return value === 0x7fff0000 ? 'allowed' : `error ${value & 0xffff}`;
    if (code === 0x20) loaded = data.get(value)!;
    else {
      const isTrue =
        code === 0x15 ? loaded === value : code === 0x45 ? (loaded & value) !== 0 : loaded >= value;
      at += program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    }
  }
}

const [REFUSED, VSOCK, NO_CALL] = ['error 1', 'error 97', 'error 38'];

const MAPPED = { keyrings: [217, 218, 219], sockets: [198, 199], unknown: [425, 437] } as const;

test.each([
  [
    ...(['x64', 0xc000003e] as const),
    {
      ...{ keyrings: [248, 249, 250], sockets: [41, 53], unknown: [425, 437, 0x40000000 + 250] },
      ...{ ptrace: 101, memory: [310, 311], firstModes: [90, 91, 85, 133], secondModes: [268, 259, 452] },
      ...{ open: 2, openat: 257 },
    },
  ],
  [
    ...(['x64', 0x40000003] as const),
    {
      ...{ keyrings: [286, 287, 288], sockets: [359, 360], unknown: [425, 437, 102] },
      ...{ ptrace: 26, memory: [347, 348], firstModes: [15, 94, 8, 14], secondModes: [306, 297, 452] },
      ...{ open: 5, openat: 295 },
    },
  ],
  [
    ...(['arm64', 0xc00000b7] as const),
    {
      ...MAPPED,
      ...{ ptrace: 117, memory: [270, 271], firstModes: [52], secondModes: [53, 33, 452] },
      ...{ open: null, openat: 56 },
    },
  ],
  [
    ...(['arm64', 0x40000028] as const),
    {
      ...{ keyrings: [309, 310, 311], sockets: [281, 288], unknown: [425, 437, 102] },
      ...{ ptrace: 26, memory: [376, 377], firstModes: [15, 94, 8, 14], secondModes: [333, 324, 452] },
      ...{ open: 5, openat: 322 },
    },
  ],
  [
    ...(['riscv64', 0xc00000f3] as const),
    {
      ...MAPPED,
      ...{ ptrace: 117, memory: [270, 271], firstModes: [52], secondModes: [53, 33, 452] },
      ...{ open: null, openat: 56 },
    },
  ],
] as const)('%s, calls of %i', (architecture, arch, calls) => {
  const result = (number: number, ...args: number[]) =>
    resultOf(syscallFilter(architecture)!, { arch, number, args });
  for (const number of [...calls.keyrings, 438]) expect(result(number)).toBe(REFUSED);
  for (const number of calls.unknown) expect(result(number)).toBe(NO_CALL);
  for (const number of calls.sockets) {
    expect(result(number, 40)).toBe(VSOCK);
    for (const family of [1, 2, 10, 16]) expect(result(number, family)).toBe('allowed');
  }
  // Of process 1, and of another.
  expect([result(calls.ptrace, 16, 1), result(calls.ptrace, 1, 2)]).toEqual([REFUSED, 'allowed']);
  for (const number of [...calls.memory, 434])
    expect([result(number, 1), result(number, 2, 1)]).toEqual([REFUSED, 'allowed']);
  const opens = [...(calls.open === null ? [] : [calls.open]).map(number => [number, [9]] as const)];
  for (const [number, before] of [
    ...calls.firstModes.map(each => [each, [9]] as const),
    ...calls.secondModes.map(each => [each, [9, 9]] as const),
  ]) {
    for (const mode of [0o4755, 0o6755, 0o4000]) expect(result(number, ...before, mode)).toBe(REFUSED);
    for (const mode of [0o755, 0o2755, 0o1777]) expect(result(number, ...before, mode)).toBe('allowed');
  }
  for (const [number, before] of [...opens, [calls.openat, [9, 9]] as const]) {
    for (const creates of [0o101, 0o20200002]) {
      expect(result(number, ...before, creates, 0o4700)).toBe(REFUSED);
      expect(result(number, ...before, creates, 0o700)).toBe('allowed');
    }
    // The mode counts only for a new file.
    expect(result(number, ...before, 0o2, 0o4700)).toBe('allowed');
  }
  for (const number of [0, 1, 3, 424, 426]) expect(result(number)).toBe('allowed');
});

test('calls of an architecture that is not known are refused, and there is no filter for a machine of one', () => {
  expect(resultOf(syscallFilter('x64')!, { arch: 1, number: 1 })).toBe(NO_CALL);
  expect(syscallFilter('s390x')).toBeNull();
});
