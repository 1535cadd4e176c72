import { expect, test } from 'vitest';
import { createKeyedQueue } from './keyed-queue.ts';

test('one at a time for a key, in order, whatever becomes of each; other keys do not wait', async () => {
  const queue = createKeyedQueue();
  const told: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue('a', async () => {
    told.push('first begins');
    await gate.promise;
    told.push('first ends');
    throw new Error('broken');
  });
  const second = queue('a', async () => told.push('second'));
  await queue('b', async () => told.push('other'));
  expect(told).toEqual(['first begins', 'other']);
  gate.resolve();
  await expect(first).rejects.toThrow('broken');
  await second;
  expect(told).toEqual(['first begins', 'other', 'first ends', 'second']);
});
