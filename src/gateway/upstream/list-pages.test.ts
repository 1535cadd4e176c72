import { expect, test } from 'vitest';
import type { Json } from '../../wire/upstream/link.ts';
import { MemoryServer, refusal } from '../testing/memory-server.ts';
import { listPages } from './catalogue.ts';

async function pages(answer: (cursor: unknown) => Json | Promise<Json>) {
  const server = new MemoryServer();
  server.answer = ({ params }) => answer(params.cursor);
  const events = { onNotification() {}, onStray() {} };
  const link = await server.connect({
    id: 'x',
    server: { kind: 'http', url: '', headers: {} },
    events,
    startTimeoutMs: 1,
    redact: raw => raw,
  });
  return await listPages(link, 'things/list', 'things', 1_000);
}

test('every page is read, in order', async () => {
  const found = await pages(cursor => {
    if (cursor === undefined) return { things: [1, 2], nextCursor: 'b' };
    return cursor === 'b' ? { things: [3], nextCursor: 'c' } : { things: [4] };
  });
  expect(found).toEqual([1, 2, 3, 4]);
});

test('a server that goes on for ever, in a circle or with ever more, is cut off', async () => {
  expect(await pages(() => ({ things: [1], nextCursor: 'again' }))).toEqual([1, 1]);
  let page = 0;
  expect(await pages(() => ({ things: [1], nextCursor: `${page++}` }))).toHaveLength(100);
  expect(await pages(() => ({ things: Array(9_000).fill(1), nextCursor: `${page++}` }))).toHaveLength(10_000);
});

test('an invalid list is empty, and a server without the method is distinguished from one with an empty list', async () => {
  expect(await pages(() => ({ things: 'many' }))).toEqual([]);
  const refused = pages(async () => {
    throw refusal(-32601, 'no such method');
  });
  expect(await refused).toBeNull();
});

test('a part of a list is none: an error on a later page counts as one on the first', async () => {
  const broken = pages(async cursor => {
    if (cursor !== undefined) throw refusal(-32603, 'try again');
    return { things: [1], nextCursor: 'b' };
  });
  expect(await broken).toBeNull();
});
