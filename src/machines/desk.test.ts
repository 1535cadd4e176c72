import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run } from '../schema/run.ts';
import { Desk } from './desk.ts';

let server: Server;
let asked = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    asked++;
    request.resume().on('end', () => response.setHeader('content-type', 'text/plain').end('hello'));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());

function desk() {
  const { port } = server.address() as AddressInfo;
  return new Desk({
    url: async () => `http://127.0.0.1:${port}/mcp`,
    runWith: token => (token === 'good' ? ({ options: { machine: 'box' } } as Run) : null),
  });
}

/** Parts of an answer that the machine gets, once the answer is complete. */
function call(to: Desk, head: object, machine = 'box') {
  const parts: { part: number; status?: number; end?: boolean; text: string }[] = [];
  const whole = Promise.withResolvers<typeof parts>();
  to.take(
    machine,
    {
      ...{ t: 'call', id: 'a-1', method: 'POST', headers: { authorization: 'Bearer good' }, sentTo: to.id },
      ...head,
    },
    Buffer.from('{}'),
    (part, body) => {
      parts.push({ ...(part as (typeof parts)[0]), text: body?.toString() ?? '' });
      if ((part as { end?: boolean }).end) whole.resolve(parts);
    },
  );
  return whole.promise;
}

test('a call is carried out once, and its answer is sent again to whoever lost it', {
  tags: ['H3'],
}, async () => {
  const one = desk();
  const before = asked;
  const first = await call(one, {});
  expect(first).toMatchObject([
    { part: 0, status: 200 },
    { part: 1, text: 'hello' },
    { part: 2, end: true },
  ]);
  expect(await call(one, { have: 1 })).toMatchObject([
    { part: 1, text: 'hello' },
    { part: 2, end: true },
  ]);
  expect(asked - before).toBe(1);
});

test('calls that the machine has no more are forgotten', { tags: ['H3'] }, async () => {
  const one = desk();
  const before = asked;
  await call(one, {});
  one.take('other', { t: 'open', ids: [] }, Buffer.alloc(0), () => {});
  await call(one, { have: 0 });
  expect(asked - before).toBe(1);
  one.take('box', { t: 'open', ids: ['a-2'] }, Buffer.alloc(0), () => {});
  await call(one, {});
  expect(asked - before).toBe(2);
});

test.each([
  ['the token of no run', { headers: { authorization: 'Bearer bad' } }, 'box', 401],
  ['no token', { headers: {} }, 'box', 401],
  ['the token of a run on another machine', {}, 'other', 401],
  ['a call that an earlier hub may have carried out', { sentTo: 'another' }, 'box', 503],
])('%s is refused', { tags: ['hostile-box'] }, async (_, head, machine, status) => {
  const before = asked;
  expect((await call(desk(), head, machine))[0]).toMatchObject({ status });
  expect(asked).toBe(before);
});

test.each([{ t: 'other' }, { id: '../x' }, { method: 'GET' }, { have: -1 }])(
  '%j is not in the protocol',
  { tags: ['hostile-box'] },
  head => {
    expect(() =>
      desk().take(
        'box',
        { t: 'call', id: 'a-1', method: 'POST', headers: {}, sentTo: 'x', ...head },
        Buffer.alloc(0),
        () => {},
      ),
    ).toThrow();
  },
);
