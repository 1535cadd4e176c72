import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebFixture } from './testing/web-fixture.ts';

let web: WebFixture;

beforeAll(async () => {
  web = await WebFixture.start({
    files: {
      'index.html': '<!doctype html>the page',
      'assets/main-abc.js': 'script',
      'assets/main-abc.css': 'style',
      'icon.svg': '<svg/>',
    },
  });
  writeFileSync(join(web.folder, 'secret.js'), 'secret');
  symlinkSync('/etc', join(web.folder, 'web', 'etc'));
});
afterAll(() => web[Symbol.asyncDispose]());

/** Not fetch, which tidies a path before it sends it. */
const raw = (path: string, method = 'GET') => web.ask(path, { method });

test.each(['/', '/inbox', '/r/run_0123456789/output', '/s/squad_0123456789', '/?w=/home/x.js'])(
  '%s is the web UI, without a token, and is not cached',
  async path => {
    const { status, text: body, headers } = await raw(path);
    expect([status, body]).toEqual([200, '<!doctype html>the page']);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
  },
);

test.each([
  '/no/such/place',
  '/worker',
  '/r',
  '/r/',
  '/r/a/b/c',
  '/s/a/b',
  '/inbox/',
  '/Inbox',
  '/%F0%9F%98%80',
  '/ap%69',
])('%s is no view: the page says so, with the status 404', async path => {
  const { status, text } = await raw(path);
  expect([status, text]).toEqual([404, '<!doctype html>the page']);
});

test('a file with a hash in its name is cached for good', async () => {
  const { status, text: body, headers } = await raw('/assets/main-abc.js');
  expect([status, body, headers['content-type']]).toEqual([200, 'script', 'text/javascript; charset=utf-8']);
  expect(headers['cache-control']).toContain('immutable');
  expect((await raw('/icon.svg')).headers['cache-control']).toBe('no-store');
});

test.each([
  ['gzip, deflate, br, zstd', true],
  ['br;q=1, gzip;q=0.5', true],
  ['br, gzip;q=0', false],
  ['identity', false],
])('a file kept in gzip is sent so to a browser that accepts %s: %s', async (accepted, isZipped) => {
  const zipped = gzipSync('a long script');
  writeFileSync(join(web.folder, 'web', 'assets', 'big-abc.js.gz'), zipped);
  // A request for a view makes the server look for new files.
  await raw('/');
  const { text, headers } = await web.ask('/assets/big-abc.js', { headers: { 'accept-encoding': accepted } });
  expect(headers['content-encoding']).toBe(isZipped ? 'gzip' : undefined);
  expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
  expect(headers['content-length']).toBe(String(isZipped ? zipped.length : 13));
  if (!isZipped) expect(text).toBe('a long script');
});

test('HEAD has the same headers as GET', async () => {
  const { status, text: body, headers } = await raw('/assets/main-abc.css', 'HEAD');
  expect([status, body, headers['content-length']]).toEqual([200, '', '5']);
});

test('the web UI may load nothing from other origins, may not be framed, and sends no referrer', {
  tags: ['cross-site-requests-to-a-page-of-ours'],
}, async () => {
  for (const path of ['/', '/assets/main-abc.js', '/missing.js']) {
    const { headers } = await raw(path);
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws://${web.webHost}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([]);
  }
});

test.each([
  '/../secret.js',
  '/assets/../../secret.js',
  '/assets/..%2f..%2fsecret.js',
  '/%2e%2e/secret.js',
  '/..\\secret.js',
  '/..%5csecret.js',
  '//secret.js',
  '/./assets/main-abc.js',
  '/assets//main-abc.js',
  '/assets/main-abc.js%00.css',
  '/assets/main-abc.js/x.js',
  '/etc/resolv.conf',
  '/constructor.js',
])(
  'no name leads out of its folder, or is another name for a file: %s',
  { tags: ['path-traversal'] },
  async path => {
    const { status, text: body } = await raw(path);
    expect([status, body]).toEqual([404, 'File not found\n']);
  },
);

test('a new build is served once its web UI is opened', async () => {
  writeFileSync(join(web.folder, 'web', 'assets', 'new-def.js'), 'new');
  await raw('/');
  expect((await raw('/assets/new-def.js')).text).toBe('new');
});

test('a build without the web UI says so', async () => {
  await using empty = await WebFixture.start();
  const { status, text } = await empty.ask('/');
  expect([status, text]).toEqual([404, expect.stringContaining('npm run build')]);
});
