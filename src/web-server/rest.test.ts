import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Call, type Operation, operation, type Route } from '../operations/operation.ts';
import { type ErrorCode, SquadError } from '../schema/error.ts';
import { statusOf } from './http-problem.ts';
import { readQuery } from './rest.ts';
import { TOKEN, WebFixture } from './testing/web-fixture.ts';

let web: WebFixture;
let lastCall: Call | null = null;

/** Stands in for a real operation and returns its input. */
const echo = (name: string, route: Route, input: z.ZodType): Operation =>
  operation({
    name,
    route,
    input,
    output: z.unknown(),
    async run(call, given) {
      lastCall = call;
      return { given };
    },
  }) as Operation;

beforeAll(async () => {
  web = await WebFixture.start({
    operations: [
      echo(
        'list_runs',
        'GET /runs',
        z.strictObject({ limit: z.number().default(20), status: z.array(z.string()).optional() }),
      ),
      echo('show_run', 'GET /runs/{run}', z.strictObject({ run: z.string() })),
      echo('reply_to_run', 'POST /runs/{run}/reply', z.strictObject({ run: z.string(), text: z.string() })),
      operation({
        name: 'list_roles',
        route: 'GET /roles',
        input: z.strictObject({}),
        output: z.unknown(),
        run: () => Promise.reject(new TypeError('a secret detail')),
      }) as Operation,
      operation({
        name: 'wait_for_runs',
        route: 'POST /wait',
        input: z.strictObject({}),
        output: z.unknown(),
        run: async call => {
          lastCall = call;
          await once(call.signal, 'abort');
          return {};
        },
      }) as Operation,
    ],
  });
});
afterAll(() => web[Symbol.asyncDispose]());

const errorIn = async (response: Response) =>
  ((await response.json()) as { error: Record<string, unknown> }).error;

test('a query, a path and a body become the input of an operation', async () => {
  expect(await (await web.fetch('/api/runs?limit=3&status=running')).json()).toEqual({
    given: { limit: 3, status: ['running'] },
  });
  expect(await (await web.fetch('/api/runs/run_a%2Fb')).json()).toEqual({ given: { run: 'run_a/b' } });
  expect(await (await web.post('/api/runs/run_x/reply', { text: 'go on' })).json()).toEqual({
    given: { run: 'run_x', text: 'go on' },
  });
});

test('a header says how long to wait; the default is not to wait', async () => {
  await web.fetch('/api/runs');
  expect(lastCall!.waitMs).toBe(0);
  await web.fetch('/api/runs', { headers: { prefer: 'respond-async, wait=7' } });
  expect(lastCall!.waitMs).toBe(7_000);
  await web.fetch('/api/runs', { headers: { prefer: 'wait=99999999999' } });
  expect(lastCall!.waitMs).toBe(3_600_000);
});

test('a request ends with its client', async () => {
  const gone = new AbortController();
  lastCall = null;
  const asked = web.post('/api/wait', {}, { signal: gone.signal });
  await expect.poll(() => lastCall).not.toBeNull();
  gone.abort();
  await expect(asked).rejects.toThrow();
  await expect.poll(() => lastCall!.signal.aborted).toBe(true);
});

test.each([
  ['a field nobody knows', '/api/runs?nonsense=1', 400, 'INVALID_INPUT'],
  ['a value that does not fit', '/api/runs?limit=many', 400, 'INVALID_INPUT'],
  ['a place that is not there', '/api/nowhere', 404, 'UNKNOWN_OPERATION'],
  ['the API itself', '/api', 404, 'UNKNOWN_OPERATION'],
  ['a wrong method', '/api/wait', 405, 'INVALID_INPUT'],
  ['a path that disagrees with its query', '/api/runs/run_a?run=run_b', 400, 'INVALID_INPUT'],
])('%s is refused with a code, a status and no cross-origin leave', async (_what, path, status, code) => {
  const response = await web.fetch(path);
  expect(response.status).toBe(status);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  const { message, ...error } = await errorIn(response);
  expect(error).toEqual({ code, kind: 'usage', suggestions: expect.any(Array), details: null });
  expect(message).toEqual(expect.any(String));
});

test('a wrong method says which is right', async () => {
  expect((await web.fetch('/api/wait')).headers.get('allow')).toBe('POST');
});

test.each([
  ['no type', {}],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['plain text', { 'content-type': 'text/plain' }],
  ['a type that begins like JSON', { 'content-type': 'application/json5' }],
])(
  'a body that does not say it is JSON is not read: %s',
  { tags: ['cross-site-requests-to-a-page-of-ours'] },
  async (_what, headers) => {
    const body = new Blob([JSON.stringify({ text: 'x' })]);
    const response = await web.fetch('/api/runs/r/reply', {
      method: 'POST',
      headers: headers as Record<string, string>,
      body,
    });
    expect(response.status).toBe(415);
  },
);

test.each(['{', '[]', '"text"', 'null', '1', '{"text":'])(
  'a body that is no object is refused: %s',
  async body => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const response = await web.fetch('/api/runs/r/reply', { method: 'POST', headers, body });
    expect([response.status, (await errorIn(response)).code]).toEqual([400, 'INVALID_INPUT']);
  },
);

test('a body that is too large is refused, whether or not it says how large it is', async () => {
  const response = await web.post('/api/runs/r/reply', { text: 'x'.repeat(2_000) });
  expect([response.status, (await errorIn(response)).code]).toEqual([413, 'MESSAGE_TOO_LARGE']);
  const { socket, heard } = say('POST /api/runs/r/reply', 'Transfer-Encoding: chunked', JSON_TYPE);
  const piece = `400\r\n${'x'.repeat(1_024)}\r\n`;
  for (let i = 0; i < 8; i++) socket.write(piece);
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 413/);
  await expect.poll(heard).toContain('MESSAGE_TOO_LARGE');
  socket.destroy();
});

test('a body may come in pieces, without its size, or not at all', async () => {
  const pieces = say('POST /api/runs/r/reply', 'Transfer-Encoding: chunked', JSON_TYPE);
  pieces.socket.write('7\r\n{"text"\r\n');
  pieces.socket.write('6\r\n:"go"}\r\n0\r\n\r\n');
  await expect.poll(pieces.heard).toMatch(/^HTTP\/1\.1 200[\s\S]*"text":"go"/);
  pieces.socket.destroy();
  for (const length of [[], ['Content-Length: 0']]) {
    const { socket, heard } = say('POST /api/runs/r/reply', JSON_TYPE, ...length);
    await expect.poll(heard).toMatch(/^HTTP\/1\.1 400[\s\S]*INVALID_INPUT/);
    socket.destroy();
  }
});

test('a broken connection is not a bug', async () => {
  const before = web.errors.length;
  const { socket } = say('POST /api/runs/r/reply', JSON_TYPE, 'Content-Length: 100');
  socket.end('{"text":');
  await once(socket, 'close');
  await web.fetch('/api/runs');
  expect(web.errors.slice(before)).toEqual([]);
});

test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])(
  '%s is no way to ask for anything, with a body or without',
  async method => {
    for (const body of [[], ['Transfer-Encoding: chunked', JSON_TYPE]]) {
      const { socket, heard } = say(`${method} /api/runs`, ...body);
      await expect.poll(heard).toMatch(/^HTTP\/1\.1 405 [\s\S]*allow: GET[\s\S]*INVALID_INPUT/i);
      socket.destroy();
    }
  },
);

const JSON_TYPE = 'Content-Type: application/json';

/** Exactly these lines, with the token; and what is heard then. */
function say(line: string, ...headers: string[]) {
  const socket = connect(web.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  socket.on('error', () => {});
  const own = [`Host: 127.0.0.1:${web.port}`, `Authorization: Bearer ${TOKEN}`];
  socket.write([`${line} HTTP/1.1`, ...own, ...headers, '', ''].join('\r\n'));
  return { socket, heard: () => text };
}

test('an internal error is answered without its stack, and logged', async () => {
  const response = await web.fetch('/api/roles');
  expect(response.status).toBe(500);
  const error = await errorIn(response);
  expect(error).toMatchObject({ code: 'INTERNAL', kind: 'internal' });
  expect(JSON.stringify(error)).not.toContain('rest.test.ts');
  expect(web.errors).toContainEqual(expect.any(TypeError));
});

test('the head of an answer is the head of an answer', async () => {
  const response = await web.fetch('/api/runs', { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

test.each<[ErrorCode, number]>([
  ['INVALID_INPUT', 400],
  ['RUN_UNKNOWN', 404],
  ['SQUAD_UNKNOWN', 404],
  ['UNKNOWN_OPERATION', 404],
  ['RUN_NOT_OVER', 409],
  ['NOT_ALLOWED', 403],
  ['GIT_FAILED', 502],
  ['DATABASE_LOCKED', 503],
  ['INTERNAL', 500],
])('%s is answered with %i', (code, status) => {
  expect(statusOf(new SquadError(code, 'x').toShape())).toBe(status);
});

test('the description says where everything is', async () => {
  const document = (await (await web.fetch('/api/openapi.json')).json()) as { paths: object };
  expect(Object.keys(document.paths)).toContain('/api/runs/{run}/reply');
});

const input = z.strictObject({
  run: z.string(),
  limit: z.number().int().default(20),
  ratio: z.number().optional(),
  all: z.boolean().optional(),
  ids: z.array(z.string()).optional(),
  turns: z.array(z.number()).optional(),
  before: z.number().nullable().optional(),
  status: z.array(z.enum(['running', 'queued'])).optional(),
});
const schema = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>;
const read = (query: string) => readQuery(new URLSearchParams(query), schema);

test('words become what the operation expects, and stay words where it expects those', () => {
  expect(read('run=123&limit=5&ratio=-0.5&all=true&before=7')).toEqual({
    run: '123',
    limit: 5,
    ratio: -0.5,
    all: true,
    before: 7,
  });
});

test('a repeated field is a list, also with one value', () => {
  expect(read('ids=a&turns=1&turns=2&status=running')).toEqual({
    ids: ['a'],
    turns: [1, 2],
    status: ['running'],
  });
});

test.each([
  'limit=',
  'limit=0x10',
  'limit=1_0',
  'limit=NaN',
  'limit=five',
  'limit=1&limit=2',
  'all=yes',
  'all=1',
])('an invalid value is left for the operation to refuse: %s', query => {
  expect(input.safeParse({ run: 'r', ...read(query) }).success).toBe(false);
});

test('a field nobody knows is not dropped without a word', () => {
  expect(read('run=r&__proto__=x&other=1')).toHaveProperty('other', '1');
  expect(input.safeParse(read('run=r&other=1')).success).toBe(false);
});

test('the fields of one of several kinds of input are known too', () => {
  const either = z.union([z.strictObject({ a: z.number() }), z.strictObject({ b: z.boolean() })]);
  const schemaOfEither = z.toJSONSchema(either) as Record<string, unknown>;
  expect(readQuery(new URLSearchParams('a=1&b=true'), schemaOfEither)).toEqual({ a: 1, b: true });
});
