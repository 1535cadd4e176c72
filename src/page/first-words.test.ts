import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { expect, test } from 'vitest';
import { showAs } from './testing/another-user.ts';
import { PageFixture, TOKEN } from './testing/page-fixture.ts';

const NONCE = 'a-nonce-of-this-test_0123456789';

const show = (fixture: PageFixture, body: unknown, headers: Record<string, string> = {}) =>
  fixture.post('/api/session', body, { token: null, headers });

test('a key is exchanged for the token, once', async () => {
  await using fixture = await PageFixture.start();
  const key = await fixture.ticket({ purpose: 'open' });
  const opened = await show(fixture, { key });
  expect([opened.status, await opened.json()]).toEqual([200, { token: TOKEN }]);
  expect(opened.headers.get('cache-control')).toBe('no-store');
  const again = await show(fixture, { key });
  expect([again.status, await again.json()]).toMatchObject([401, { error: { code: 'TICKET_WRONG' } }]);
});

test('a key that is late, for something else, made up or no key is refused', async () => {
  await using fixture = await PageFixture.start();
  const late = await fixture.ticket({ purpose: 'open' });
  fixture.now += 600_000;
  const [live, more] = [await fixture.ticket(), await fixture.ticket({ purpose: 'open' })];
  const wrong = [
    { key: late },
    { key: live },
    { key: 'x' },
    { key: 7 },
    {},
    { key: more, also: 1 },
    { key: TOKEN },
  ];
  for (const body of wrong) expect((await show(fixture, body)).status).toBe(401);
  expect((await show(fixture, { key: 'x'.repeat(2_000) })).status).toBe(413);
  expect((await show(fixture, { key: more }, { 'content-type': 'text/plain' })).status).toBe(401);
  expect((await show(fixture, { key: more })).status).toBe(200);
});

test('a key shown by a page of another site is not even looked at', async () => {
  await using fixture = await PageFixture.start();
  const key = await fixture.ticket({ purpose: 'open' });
  expect((await show(fixture, { key }, { origin: 'http://evil.example' })).status).toBe(403);
  expect((await show(fixture, { key }, { origin: fixture.origin })).status).toBe(200);
});

test('a key shown on a connection of another user is refused, stays good, and is in the log once', async () => {
  await using fixture = await PageFixture.start({ isOwnPeer: false });
  const key = await fixture.ticket({ purpose: 'open' });
  for (let i = 0; i < 3; i++) {
    const refused = await show(fixture, { key });
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'NOT_ALLOWED' } }]);
  }
  expect(fixture.errors).toEqual([expect.stringContaining('Another user')]);
  expect(JSON.stringify(fixture.errors)).not.toContain(key);
  fixture.isOwnPeer = true;
  expect((await show(fixture, { key })).status).toBe(200);
});

// Only root can be somebody else.
test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'another user who read the key on a command line does not get the token for it',
  async () => {
    await using fixture = await PageFixture.start();
    const key = await fixture.ticket({ purpose: 'open' });
    expect(await showAs(65_534, fixture.port, key)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await showAs(0, fixture.port, key)).toContain(TOKEN);
  },
);

test('whoever asks is shown that this is the hub, at this address, without the token', async () => {
  await using fixture = await PageFixture.start();
  const response = await fixture.fetch(`/api/proof?nonce=${NONCE}`, { token: null });
  const expected = createHmac('sha256', TOKEN).update(`${NONCE} 127.0.0.1:${fixture.port}`).digest('hex');
  expect(await response.json()).toEqual({ proof: expected });
});

test('it is not shown at an address where somebody else may stand between', async () => {
  await using fixture = await PageFixture.start();
  for (const host of [
    `localhost:${fixture.port}`,
    `[::1]:${fixture.port}`,
    `127.0.0.1:${fixture.port + 1}`,
  ]) {
    const asked = get({
      host: '127.0.0.1',
      port: fixture.port,
      path: `/api/proof?nonce=${NONCE}`,
      headers: { host },
    });
    const [response] = await once(asked, 'response');
    response.resume();
    expect([host, response.statusCode]).toEqual([host, 403]);
  }
});

test.each(['', 'short', 'x'.repeat(129), 'with a space in it', 'sixteen%0aletters'])(
  'a nonce has a bounded length and no strange letters: %j',
  async nonce => {
    await using fixture = await PageFixture.start();
    expect((await fixture.fetch(`/api/proof?nonce=${nonce}`, { token: null })).status).toBe(400);
  },
);
