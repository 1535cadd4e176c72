import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptCode } from './kept-code.ts';

let folder: string;
const program = () => join(folder, 'program.cjs');
const file = () => join(folder, 'program.code');
const write = (value: number) =>
  writeFileSync(
    program(),
    `const { join } = require('node:path'); module.exports = () => join(__dirname, '${value}');`,
  );
const load = () => new KeptCode(program(), file());
const result = (code: KeptCode) => (code.run() as () => string)();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kept-code-'));
  write(1);
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the next start has the code of the first', () => {
  const first = load();
  expect(first.isKept).toBe(false);
  expect(result(first)).toBe(join(folder, '1'));
  first.save();
  const second = load();
  expect(second.isKept).toBe(true);
  expect(result(second)).toBe(join(folder, '1'));
});

test('code of another program of the same length is not used', () => {
  const first = load();
  first.run();
  first.save();
  write(2);
  const second = load();
  expect(second.isKept).toBe(false);
  expect(result(second)).toBe(join(folder, '2'));
  second.save();
  expect(load().isKept).toBe(true);
});

test.each([
  ['changed', (kept: Buffer) => kept.fill(0, kept.length >> 1)],
  ['cut off', (kept: Buffer) => kept.subarray(0, kept.length >> 1)],
  ['empty', () => Buffer.alloc(0)],
])('a damaged file (%s) is not used, and replaced', (_, damage) => {
  const first = load();
  first.run();
  first.save();
  writeFileSync(file(), damage(readFileSync(file())));
  const second = load();
  expect(second.isKept).toBe(false);
  expect(result(second)).toBe(join(folder, '1'));
  second.save();
  expect(load().isKept).toBe(true);
});

test('the caller can stand between the program and what it requires', () => {
  const names: string[] = [];
  load().run(require => name => {
    names.push(name);
    return require(name);
  });
  expect(names).toEqual(['node:path']);
});
