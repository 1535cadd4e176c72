import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { ownToken } from './token.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-token-'));
const file = join(root, 'token');
beforeEach(() => rmSync(file, { force: true }));
afterAll(() => rmSync(root, { recursive: true }));

const mode = () => statSync(file).mode & 0o777;

test('the token is made once, with 256 bits, for its owner only, and never changes', () => {
  const token = ownToken(file);
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  expect(mode()).toBe(0o600);
  expect(ownToken(file)).toBe(token);
  expect(readFileSync(file, 'utf8')).toBe(`${token}\n`);
});

test('a file that others could read is closed', () => {
  const token = ownToken(file);
  chmodSync(file, 0o644);
  expect(ownToken(file)).toBe(token);
  expect(mode()).toBe(0o600);
});

test.each(['', 'short', 'with spaces '.repeat(10)])('an invalid token (%j) is replaced', text => {
  writeFileSync(file, text, { mode: 0o644 });
  expect(ownToken(file)).toMatch(/^[\w-]{43}$/);
  expect(mode()).toBe(0o600);
});
