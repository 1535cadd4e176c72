import { statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startChild } from '../fixtures/child.ts';
import { tempFile } from '../fixtures/temp-file.ts';
import { takeLock } from './lock.ts';

const HOLDER = new URL('../fixtures/hold-lock.ts', import.meta.url);

async function contender(file: string) {
  const child = startChild(HOLDER, file);
  expect(await child.line()).toBe('ready');
  const ask = (order: string) => {
    child.say(order);
    return child.line();
  };
  return { ask, kill: child.kill };
}

test('one process holds the lock, another is refused until it is released', async () => {
  const file = tempFile('hub.lock');
  const [one, two] = [await contender(file), await contender(file)];
  expect(await one.ask('take')).toBe('held');
  expect(await two.ask('take')).toBe('refused');
  expect(takeLock(file)).toBeNull();
  await one.ask('release');
  expect(await two.ask('take')).toBe('held');
});

test('of two that ask at the same moment exactly one gets it', async () => {
  const file = tempFile('hub.lock');
  const racers = [await contender(file), await contender(file)];
  for (let round = 0; round < 300; round++) {
    const moment = Date.now() + 3;
    const answers = await Promise.all(racers.map(racer => racer.ask(`take ${moment}`)));
    expect(answers.sort()).toEqual(['held', 'refused']);
    await Promise.all(racers.map(racer => racer.ask('release')));
  }
});

test('the kernel gives it back when its holder is killed with -9', async () => {
  const file = tempFile('hub.lock');
  const holder = await contender(file);
  expect(await holder.ask('take')).toBe('held');
  expect(takeLock(file)).toBeNull();
  await holder.kill();
  const lock = takeLock(file);
  expect(lock).not.toBeNull();
  lock?.release();
});

test('asking again in the process that holds it neither succeeds nor loses it', async () => {
  const file = tempFile('hub.lock');
  const lock = takeLock(file);
  expect(takeLock(file)).toBeNull();
  const other = await contender(file);
  expect(await other.ask('take')).toBe('refused');
  lock?.release();
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
});

test('a file that cannot be a lock is an error, not a held lock', () => {
  const file = tempFile('hub.lock');
  writeFileSync(file, 'garbage! '.repeat(2000));
  expect(() => takeLock(file)).toThrow(file);
});
