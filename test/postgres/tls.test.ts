import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { query } from '../../src/store/fixtures/temp-database.ts';
import { openStore } from '../../src/store/open.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { TestSquad } from '../support/squad.ts';

const SCRIPT = resolve(import.meta.dirname, '../../examples/postgresql/make-certificates.sh');

const folder = mkdtempSync(join(tmpdir(), 'squad-tls-'));
const certificates = (name: string) => join(folder, name, 'certificates');
let server: PostgresServer;

beforeAll(async () => {
  for (const name of ['own', 'other']) {
    execFileSync('mkdir', [join(folder, name)]);
    execFileSync('sh', [SCRIPT, 'localhost'], { cwd: join(folder, name), stdio: 'ignore' });
  }
  server = await startPostgres({
    settings: ['ssl=on', 'ssl_cert_file=FILES/server.crt', 'ssl_key_file=FILES/server.key'],
    files: Object.fromEntries(
      ['server.crt', 'server.key'].map(name => [name, join(certificates('own'), name)]),
    ),
  });
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true });
});

/** The server's URL. Its certificate is for localhost, and not for 127.0.0.1. */
function url(parameters: Record<string, string>, host = 'localhost', database = server.url): string {
  const url = new URL(database);
  url.hostname = host;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const trusting = (name: string) => ({
  sslmode: 'verify-full',
  sslrootcert: join(certificates(name), 'ca.crt'),
});

const home = { id: 'one', home: '/home/one' };
const refusal = (database: string) =>
  openStore({ database, version: '1.2.3', home, busyRetryMs: 300 }).then(
    () => Promise.reject(new Error('the database was opened')),
    (error: { code: string; message: string; suggestions: string[] }) => error,
  );

test('every session of a hub is encrypted with verify-full and the right certificate authority', {
  tags: ['H7'],
}, async () => {
  const store = await openStore({ database: url(trusting('own')), version: '1.2.3', home });
  onTestFinished(() => store.close());
  let heard = 0;
  store.onOtherHub(() => {
    heard++;
  });
  await expect.poll(() => heard).toBeGreaterThan(0);
  await store.settings();
  const sessions = await query(
    server.url,
    `select ssl from pg_stat_activity join pg_stat_ssl using (pid) where application_name like 'squad one %'`,
  );
  expect(sessions).toEqual(Array.from({ length: 3 }, () => ({ ssl: true })));
});

test.each([
  ['another authority', () => url(trusting('other')), 'could not be verified', 'sslrootcert='],
  ['no authority', () => url({ sslmode: 'verify-full' }), 'could not be verified', 'sslrootcert='],
  [
    'another authority and a weaker mode',
    () => url({ ...trusting('other'), sslmode: 'require' }),
    'could not be verified',
    'sslrootcert=',
  ],
  [
    'a name that is not in the certificate',
    () => url(trusting('own'), '127.0.0.1'),
    'could not be verified',
    'Use a host name',
  ],
  [
    'a server without TLS',
    () => url(trusting('own'), 'localhost', inject('postgres')!),
    'its server has no TLS',
    'Turn on `ssl`',
  ],
])('%s is refused with a next step', { tags: ['H7'] }, async (_, database, message, next) => {
  const error = await refusal(database());
  expect(error).toMatchObject({ code: 'DATABASE_FAILED', message: expect.stringContaining(message) });
  expect(error.suggestions.join()).toContain(next);
});

test.each([
  ['/nowhere/ca.crt', 'The file /nowhere/ca.crt (sslrootcert) cannot be read.'],
  ['ca.crt', 'sslrootcert=ca.crt is not an absolute path.'],
])('the certificate authority %s is refused before a connection', async (sslrootcert, message) => {
  expect(await refusal(url({ sslmode: 'verify-full', sslrootcert }))).toMatchObject({
    code: 'CONFIG_INVALID',
    message,
  });
});

test('a home joins over TLS, and not over a network in the clear', { tags: ['H7'] }, async () => {
  await using squad = new TestSquad({ SQUAD_DATABASE_URL: '' });
  // 0.0.0.0 leads to this machine, and is no address of loopback.
  const clear = await squad.run(['hub', 'join', url({}, '0.0.0.0')]);
  expect(clear).toMatchObject({ code: 2, stderr: expect.stringContaining('is not encrypted') });
  const wrong = await squad.run(['hub', 'join', url(trusting('other'))]);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('could not be verified') });
  const joined = await squad.run(['hub', 'join', url(trusting('own'))]);
  expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('server verified') });
  expect((await squad.run(['hub', 'start'])).stdout).toContain('postgres://localhost');
});
