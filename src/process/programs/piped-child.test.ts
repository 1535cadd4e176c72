import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { descendantsOf, knowsDescendants, memoryOfTree } from '../table/descendants.ts';
import { startPiped } from './piped-child.ts';

const env = { PATH: process.env.PATH ?? '' };
const start = (...argv: [string, ...string[]]) => startPiped({ argv, cwd: '/', env });
const isThere = (pid: number) => existsSync(`/proc/${pid}`);

test('a child reads and writes over its streams', async () => {
  const child = start('/bin/sh', '-c', 'read line; echo "got $line"; echo bad >&2; exit 3');
  child.stdin.end('words\n');
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  expect(await child.ended).toEqual({ code: 3, signal: null, failure: null });
  expect(await said).toEqual(['got words\n', 'bad\n']);
});

test('a missing program is an end with a reason', async () => {
  const child = start('/not/there');
  expect(child.pid).toBeNull();
  expect(await child.ended).toMatchObject({ code: null, failure: { code: 'ENOENT' } });
  child.kill();
});

test('a child is ended with all processes below it, whatever they do with signals and groups', async () => {
  const child = start(
    '/bin/sh',
    '-c',
    'trap "" TERM; setsid sh -c "trap \\"\\" TERM; sleep 61; :" & sleep 62 & echo ready; wait; :',
  );
  await once(child.stdout, 'data');
  await expect.poll(() => descendantsOf(child.pid!).length).toBeGreaterThanOrEqual(3);
  const below = descendantsOf(child.pid!);
  child.kill();
  await child.ended;
  await expect.poll(() => below.filter(isThere)).toEqual([]);
});

test('a child without processes below it is ended', async () => {
  const child = start('/bin/sleep', '63');
  child.kill();
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
});

test('memory is that of all together, without what is only read', async () => {
  expect(knowsDescendants()).toBe(true);
  const take = 'const kept = Buffer.alloc(1e8, 1); console.log(kept.length); setInterval(() => kept, 1000)';
  const child = start('/bin/sh', '-c', `"$0" -e '${take}' & wait; :`, process.execPath);
  await once(child.stdout, 'data');
  const megabytes = memoryOfTree(child.pid!) / 1024 / 1024;
  child.kill();
  await child.ended;
  expect(megabytes).toBeGreaterThan(95);
  expect(megabytes).toBeLessThan(200);
  expect(memoryOfTree(child.pid!)).toBe(0);
});
