import { expect, test } from 'vitest';
import { syscallFilter } from './syscall-filter.ts';

/** Runs the filter as the kernel does. */
function resultOf(program: Buffer, call: { arch: number; number: number; argument?: number }): string {
  const data = new Map([
    [0, call.number],
    [4, call.arch],
    [16, call.argument ?? 0],
  ]);
  for (let at = 0, loaded = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return value === 0x7fff0000 ? 'allowed' : `error ${value & 0xffff}`;
    if (code === 0x20) loaded = data.get(value)!;
    else at += program.readUInt8(at * 8 + ((code === 0x15 ? loaded === value : loaded >= value) ? 2 : 3));
  }
}

const [KEYCTL, VSOCK, NO_CALL] = ['error 1', 'error 97', 'error 38'];

test.each([
  ['x64', 0xc000003e, { keyrings: [248, 249, 250], sockets: [41, 53], unknown: [425, 0x40000000 + 250] }],
  ['x64', 0x40000003, { keyrings: [286, 287, 288], sockets: [359, 360], unknown: [425, 102] }],
  ['arm64', 0xc00000b7, { keyrings: [217, 218, 219], sockets: [198, 199], unknown: [425] }],
  ['arm64', 0x40000028, { keyrings: [309, 310, 311], sockets: [281, 288], unknown: [425, 102] }],
  ['riscv64', 0xc00000f3, { keyrings: [217, 218, 219], sockets: [198, 199], unknown: [425] }],
] as const)('%s, calls of %i', (architecture, arch, { keyrings, sockets, unknown }) => {
  const result = (number: number, argument?: number) =>
    resultOf(syscallFilter(architecture)!, { arch, number, argument });
  for (const number of keyrings) expect(result(number)).toBe(KEYCTL);
  for (const number of unknown) expect(result(number)).toBe(NO_CALL);
  for (const number of sockets) {
    expect(result(number, 40)).toBe(VSOCK);
    for (const family of [1, 2, 10, 16]) expect(result(number, family)).toBe('allowed');
  }
  for (const number of [0, 1, 3, 56, 424, 426]) expect(result(number)).toBe('allowed');
});

test('calls of an architecture that is not known are refused, and there is no filter for a machine of one', () => {
  expect(resultOf(syscallFilter('x64')!, { arch: 1, number: 1 })).toBe(NO_CALL);
  expect(syscallFilter('s390x')).toBeNull();
});
