import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { createRunCheck } from './run-logged.ts';

let tags = 0;
const runCheck = createRunCheck({ nextTag: () => `check.${process.pid}.${++tags}` });
const sh = (line: string, more: object = {}) =>
  runCheck({
    argv: ['/bin/sh', '-c', line],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    limitMs: 20_000,
    ...more,
  });

test('says yes by exit code 0 and no by any other, with both streams in the order they were written', async () => {
  expect(await sh('echo one; echo two >&2; echo three')).toMatchObject({
    ...{ outcome: 'passed', exitCode: 0, output: 'one\ntwo\nthree\n' },
    durationMs: expect.any(Number),
  });
  expect(await sh('exit 7')).toMatchObject({ outcome: 'failed', exitCode: 7, output: '' });
  expect(await sh('kill -9 $$')).toMatchObject({ outcome: 'failed', exitCode: null });
});

test('of much output the end is kept, from the beginning of a line', async () => {
  const { output } = await sh('i=0; while [ $i -lt 3000 ]; do echo "line $i äöü"; i=$((i+1)); done');
  expect(output).toMatch(/^line \d+ äöü\n/);
  expect(output.endsWith('line 2999 äöü\n')).toBe(true);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(8 * 1024);
});

test('is ended at its limit, and as soon as nobody waits any more', async () => {
  // On a busy machine a shell needs most of a second to begin.
  expect(await sh('echo begun; exec sleep 300', { limitMs: 3_000 })).toMatchObject({
    outcome: 'timeout',
    output: 'begun\n',
  });
  const gone = AbortSignal.timeout(300);
  expect(await sh('exec sleep 300', { signal: gone })).toMatchObject({ outcome: 'failed', exitCode: null });
});

test('a missing program is reported, and no output file stays', async () => {
  const missing = await sh('', { argv: ['/nowhere/at/all'] });
  expect(missing).toMatchObject({
    outcome: 'not_started',
    exitCode: null,
    output: expect.stringContaining('ENOENT'),
  });
  const own = readdirSync(tmpdir()).filter(name => name.startsWith('squad-check-'));
  await sh('true');
  expect(readdirSync(tmpdir()).filter(name => name.startsWith('squad-check-')).length).toBeLessThanOrEqual(
    own.length,
  );
});
