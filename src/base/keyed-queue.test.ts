import { expect, test } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

test('work under one key waits for earlier work under that key, even if that failed, and not for other keys', async () => {
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

test('the queue is idle when no work is running, including work that work added', async () => {
  const queue = new KeyedQueue<string>();
  let done = 0;
  void queue.run('a', async () => {
    void queue.run('b', async () => done++);
    done++;
  });
  await queue.idle();
  expect(done).toBe(2);
});
