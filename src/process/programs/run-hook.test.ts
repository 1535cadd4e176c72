import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runHook } from './run-hook.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'squad-hook-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const NEVER = new AbortController().signal;
const hook = (script: string, more = {}) =>
  runHook({
    argv: ['/bin/sh', '-c', script, 'sh', 'one two', '$HOME'],
    ...{ cwd, env: { PATH: '/usr/bin:/bin', FACT: 'yes' }, stdin: '{"a":1}', limitMs: 20_000, signal: NEVER },
    ...more,
  });

test('gets its arguments as they are, the facts on standard input and its environment', async () => {
  expect(await hook('printf "%s|%s|%s|%s" "$1" "$2" "$FACT" "$(cat)" > out')).toBeNull();
  expect(readFileSync(join(cwd, 'out'), 'utf8')).toBe('one two|$HOME|yes|{"a":1}');
});

test('a failure is reported with its stderr', async () => {
  expect(await hook('echo broken >&2; exit 3')).toBe('exit 3: broken');
  expect(
    await runHook({ argv: ['/nonesuch'], cwd, env: {}, stdin: '', limitMs: 1000, signal: NEVER }),
  ).toContain('ENOENT');
});

test('a hook that does not end is ended, with the processes it started', async () => {
  // On a busy machine a shell needs most of a second to begin.
  expect(await hook('sleep 600 & echo $! > pid; wait', { limitMs: 3_000 })).toContain('took longer than');
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
  await expect.poll(() => existsSync(`/proc/${pid}/exe`)).toBe(false);
});

test('a hook that is no longer needed is ended, with the processes it started', async () => {
  const stop = new AbortController();
  const told = hook('sleep 600 & echo $! > pid.new; mv pid.new pid; wait', { signal: stop.signal });
  await expect.poll(() => existsSync(join(cwd, 'pid'))).toBe(true);
  stop.abort();
  expect(await told).toContain('the hub stops');
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
  await expect.poll(() => existsSync(`/proc/${pid}/exe`)).toBe(false);
  expect(await hook('sleep 600', { signal: stop.signal })).toContain('the hub stops');
});
