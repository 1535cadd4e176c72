import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whenFree, withLock } from './file-lock.ts';

let root: string;
let lock: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'squad-lock-'));
  lock = join(root, 'home', 'x.lock');
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('a lock', () => {
  it('lets one in at a time, and is gone afterwards', async () => {
    let inside = 0;
    let most = 0;
    const work = async (value: number) => {
      most = Math.max(most, ++inside);
      await readdir(root);
      inside -= 1;
      return value;
    };
    const values = Array.from({ length: 20 }, (_, at) => at);
    expect(await Promise.all(values.map(value => withLock(lock, () => work(value))))).toEqual(values);
    expect(most).toBe(1);
    expect(await readdir(join(root, 'home'))).toEqual([]);
  });

  it('is let go by work that fails', async () => {
    const failing = withLock(lock, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await withLock(lock, async () => 'next')).toBe('next');
  });

  it.each([
    ['a process that is gone', () => `${spawnSync('true').pid} 0123\n`],
    ['one that never wrote its name', () => ''],
    ['one that lives and does not let go', () => `${process.pid} 0123\n`],
  ])('that was left behind by %s is taken by one after the other', async (_, mark) => {
    await withLock(lock, async () => {});
    await writeFile(lock, mark());
    let inside = 0;
    const most: number[] = [];
    const work = async () => {
      most.push(++inside);
      await readdir(root);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => withLock(lock, work)));
    expect(most).toEqual(Array(8).fill(1));
    expect(await readdir(join(root, 'home'))).toEqual([]);
  });

  it('can be waited for, until it is free', async () => {
    const order: string[] = [];
    const taken = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const held = withLock(lock, async () => {
      taken.resolve();
      await over.promise;
      order.push('done');
    });
    await taken.promise;
    const waiting = whenFree(lock).then(() => order.push('free'));
    expect(await readFile(lock, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
    over.resolve();
    await Promise.all([held, waiting]);
    expect(order).toEqual(['done', 'free']);
  });

  it('is not waited for when its holder has died', async () => {
    const died = spawnSync(process.execPath, ['-e', '0']);
    await mkdir(dirname(lock), { recursive: true });
    await writeFile(lock, `${died.pid} mark\n`);
    await whenFree(lock);
    expect(await readFile(lock, 'utf8')).toBe(`${died.pid} mark\n`);
  });
});
