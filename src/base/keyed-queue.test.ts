import { expect, test } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

test('what comes under one key waits for what came before, however that ended, and not for other keys', async () => {
  const queue = new KeyedQueue<string>();
  const order: string[] = [];
  let release = () => {};
  const held = new Promise<void>(settle => {
    release = settle;
  });
  const first = queue.run('a', async () => {
    await held;
    order.push('a1');
    throw new Error('broken');
  });
  const second = queue.run('a', async () => order.push('a2'));
  await queue.run('b', async () => order.push('b1'));
  expect(order).toEqual(['b1']);
  release();
  await expect(first).rejects.toThrow('broken');
  await second;
  expect(order).toEqual(['b1', 'a1', 'a2']);
});

test('it is idle when nothing is under way, also what was begun by what was', async () => {
  const queue = new KeyedQueue<string>();
  let done = 0;
  void queue.run('a', async () => {
    void queue.run('b', async () => done++);
    done++;
  });
  await queue.idle();
  expect(done).toBe(2);
});
