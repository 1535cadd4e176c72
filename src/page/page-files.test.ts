import { symlinkSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageFixture } from './testing/page-fixture.ts';

let page: PageFixture;

beforeAll(async () => {
  page = await PageFixture.start({
    files: {
      'index.html': '<!doctype html>the page',
      'assets/main-abc.js': 'script',
      'assets/main-abc.css': 'style',
      'icon.svg': '<svg/>',
    },
  });
  writeFileSync(join(page.folder, 'secret.js'), 'secret');
  symlinkSync('/etc', join(page.folder, 'web', 'etc'));
});
afterAll(() => page[Symbol.asyncDispose]());

/** Not fetch, which tidies a path before it sends it. */
const raw = (path: string, method = 'GET') =>
  new Promise<{ status: number; body: string; headers: Record<string, unknown> }>((settle, reject) => {
    const sent = request({ host: '127.0.0.1', port: page.port, path, method }, response => {
      let body = '';
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk;
      });
      response.on('end', () => settle({ status: response.statusCode!, body, headers: response.headers }));
    });
    sent.on('error', reject).end();
  });

test.each([
  '/',
  '/inbox',
  '/r/run_0123456789/output',
  '/s/squad_0123456789',
  '/?w=/home/x.js',
  '/%F0%9F%98%80',
])('%s is the page, without a token, and is not kept', async path => {
  const { status, body, headers } = await raw(path);
  expect([status, body]).toEqual([200, '<!doctype html>the page']);
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
});

test('a file with its hash in its name is kept for good', async () => {
  const { status, body, headers } = await raw('/assets/main-abc.js');
  expect([status, body, headers['content-type']]).toEqual([200, 'script', 'text/javascript; charset=utf-8']);
  expect(headers['cache-control']).toContain('immutable');
  expect((await raw('/icon.svg')).headers['cache-control']).toBe('no-store');
});

test('the head alone says the same as the whole', async () => {
  const { status, body, headers } = await raw('/assets/main-abc.css', 'HEAD');
  expect([status, body, headers['content-length']]).toEqual([200, '', '5']);
});

test('it may load nothing from elsewhere, be framed by nobody, and is told to nobody', async () => {
  for (const path of ['/', '/assets/main-abc.js', '/missing.js']) {
    const { headers } = await raw(path);
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws://127.0.0.1:${page.port}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
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
])('no name leads out of its folder, or is another name for a file: %s', async path => {
  const { status, body } = await raw(path);
  expect([status, body]).toEqual([404, 'There is no such file\n']);
});

test('a build that came meanwhile is served once its page is opened', async () => {
  writeFileSync(join(page.folder, 'web', 'assets', 'new-def.js'), 'new');
  await raw('/');
  expect((await raw('/assets/new-def.js')).body).toBe('new');
});

test('a build without a page says so', async () => {
  await using empty = await PageFixture.start();
  const response = await empty.fetch('/', { token: null });
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('npm run build')]);
});

test('at another name of ours it leads to the one where nobody else can listen', async () => {
  const [status, location] = await new Promise<unknown[]>((settle, reject) => {
    const headers = { host: `localhost:${page.port}` };
    get({ host: '127.0.0.1', port: page.port, path: '/inbox?w=%2Fx', headers }, response => {
      response.resume();
      settle([response.statusCode, response.headers.location]);
    }).on('error', reject);
  });
  expect([status, location]).toEqual([307, `http://127.0.0.1:${page.port}/inbox?w=%2Fx`]);
});
