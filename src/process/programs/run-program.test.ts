import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { isAlive, until } from '../testing/turn-fixture.ts';
import { type ProgramRun, runProgram } from './run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-program-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sh = (script: string, more: Partial<ProgramRun> = {}) =>
  runProgram({
    argv: ['/bin/sh', '-c', script],
    cwd: folder,
    env: { PATH: '/bin:/usr/bin' },
    limitMs: 20_000,
    maxBytes: 1000,
    ...more,
  });

test('gives back what was said, byte for byte, and the exit code', async () => {
  const end = await sh(`printf 'a\\377\\0b'; echo failure >&2; exit 3`);
  expect([...end.stdout]).toEqual([97, 255, 0, 98]);
  expect(end).toMatchObject({ code: 3, stderr: 'failure\n', cut: null });
});

test('passes on no variable of this process', async () => {
  process.env.SQUAD_PROGRAM_TEST = 'seen';
  expect(String((await sh('env')).stdout)).not.toContain('SQUAD_PROGRAM_TEST');
});

test('ends one that says too much, and keeps what fits', async () => {
  const end = await sh('while :; do echo xxxxxxxxx; done');
  expect(end.cut).toBe('size');
  expect(end.stdout).toHaveLength(1000);
});

test('ends one that takes too long, together with what it started', async () => {
  const end = await sh('sleep 61 & echo $! >child; wait', { limitMs: 1500 });
  expect(end).toMatchObject({ code: null, cut: 'time' });
  const child = Number(readFileSync(join(folder, 'child'), 'utf8'));
  await until(() => !isAlive(child), 'the end of what it started');
});

test('ends when it is no longer wanted, and is not started when that was so before', async () => {
  const controller = new AbortController();
  const running = sh('echo >begun; sleep 61', { signal: controller.signal });
  await until(() => existsSync(join(folder, 'begun')), 'the start');
  controller.abort();
  expect((await running).cut).toBe('abort');
  expect((await sh('echo >never', { signal: controller.signal })).cut).toBe('abort');
  expect(existsSync(join(folder, 'never'))).toBe(false);
});

test('begins before its input is there, and ends if that never comes', async () => {
  const input = Promise.withResolvers<Buffer>();
  const running = sh('echo >waiting; cat', { input: input.promise });
  await until(() => existsSync(join(folder, 'waiting')), 'the start');
  input.resolve(Buffer.from('late'));
  expect(await running).toMatchObject({ code: 0, stdout: Buffer.from('late') });
  expect(await sh('cat', { input: Promise.reject(new Error('none')) })).toMatchObject({ cut: 'abort' });
});

test('says so when there is no such program, or no such folder', async () => {
  expect((await runProgram({ ...BASE, argv: ['/nowhere/git'] })).cut).toBe('missing');
  expect((await runProgram({ ...BASE, cwd: '/nowhere' })).cut).toBe('missing');
});

const BASE: ProgramRun = { argv: ['/bin/true'], cwd: folder, env: {}, limitMs: 20_000, maxBytes: 10 };
