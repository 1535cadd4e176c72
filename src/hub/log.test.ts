import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Log } from './log.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-log-'));
afterAll(() => rmSync(root, { recursive: true }));

test('each entry is one line with time and level, and the file is for its owner only', () => {
  const file = join(root, 'plain');
  const log = new Log(file, undefined);
  log.write('debug', 'too much');
  log.write('info', 'hello');
  log.write('warning', 'it failed', new Error('outer', { cause: new Error('inner') }));
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z info {4}hello\n\S+ warning it failed: Error: outer\n/);
  expect(text).toMatch(/\n {2}because Error: inner\n/);
  expect(text).not.toContain('too much');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a quoted text makes no line that looks like an entry of the log', {
  tags: ['forging-of-logs-and-of-the-audit'],
}, () => {
  const file = join(root, 'forged');
  const forged = `${new Date().toISOString()} info    all is well`;
  const log = new Log(file, 'debug');
  for (const end of ['\n', '\r\n', '\r', '\u0085', '\u2028', '\u2029'])
    log.write('warning', `it said: x${end}${forged}`, new Error(`y${end}${forged}`));
  const lines = readFileSync(file, 'utf8').split(/[\n\r\u0085\u2028\u2029]/);
  expect(lines.filter(line => line.includes('all is well') && !line.startsWith('  '))).toEqual([]);
});

test('MCP_LOG_LEVEL chooses what is worth a line', () => {
  const file = join(root, 'level');
  new Log(file, 'debug').write('debug', 'shown');
  new Log(file, 'error').write('warning', 'hidden');
  expect(readFileSync(file, 'utf8')).toMatch(/debug {3}shown\n$/);
});

test('the log is limited: one older generation is kept', () => {
  const file = join(root, 'large');
  writeFileSync(file, 'x'.repeat(5 * 1024 * 1024 + 1));
  const log = new Log(file, 'info');
  log.write('info', 'after');
  expect(readFileSync(file, 'utf8')).toMatch(/ after\n$/);
  expect(statSync(file).size).toBeLessThan(200);
  expect(statSync(`${file}.1`).size).toBeGreaterThan(5 * 1024 * 1024);
});

test('a log that cannot be written is no reason to fall over', () => {
  expect(() => new Log(join(root, 'no', 'such', 'folder'), 'info').write('error', 'x')).not.toThrow();
});

test('an unknown level is reported once, and means info', () => {
  const file = join(root, 'nonsense');
  const log = new Log(file, 'nonsense');
  log.write('debug', 'too much');
  log.write('info', 'hello');
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain('too much');
  expect(text).toMatch(
    /^\S+ warning MCP_LOG_LEVEL is "nonsense".*debug, info, warning, error.*\n\S+ info {4}hello\n$/,
  );
});
