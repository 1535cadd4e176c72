import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { showAs } from './testing/another-user.ts';
import { TOKEN, WebFixture } from './testing/web-fixture.ts';

const NONCE = 'a-nonce-of-this-test_0123456789';

const show = (
  fixture: WebFixture,
  body: unknown,
  headers: Record<string, string> = {},
  host = fixture.webHost,
) =>
  fixture.ask('/api/session', {
    method: 'POST',
    host,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

test('a key is exchanged for a session, once', { tags: ['S2'] }, async () => {
  await using fixture = await WebFixture.start();
  const key = fixture.key();
  const opened = await show(fixture, { key });
  expect(opened.status).toBe(200);
  expect(opened.headers['cache-control']).toBe('no-store');
  const { token, ...more } = JSON.parse(opened.text) as { token: string };
  expect([token, more]).toEqual([expect.stringMatching(/^[\w-]{12}\.[\w-]{43}$/), {}]);
  const headers = { authorization: `Bearer ${token}` };
  expect((await fixture.ask('/api/openapi.json', { headers })).status).toBe(200);
  expect(
    (await fixture.ask('/api/openapi.json', { headers, host: `127.0.0.1:${fixture.port}` })).status,
  ).toBe(401);
  const again = await show(fixture, { key });
  expect([again.status, JSON.parse(again.text)]).toMatchObject([401, { error: { code: 'TICKET_WRONG' } }]);
});

test('entries of the browser for a host from before its first session are evicted, and never later', {
  tags: ['S2'],
}, async () => {
  await using fixture = await WebFixture.start();
  const evicted = async (host?: string) =>
    (await show(fixture, { key: fixture.key(host) }, {}, host)).headers['clear-site-data'];
  expect([await evicted(), await evicted()]).toEqual(['"storage"', undefined]);
  const address = fixture.openAtAddress();
  expect([await evicted(address), await evicted(address)]).toEqual(['"storage"', undefined]);
});

test('a key is for one host', { tags: ['S2'] }, async () => {
  await using fixture = await WebFixture.start();
  const address = fixture.openAtAddress();
  const [own, other] = [fixture.key(), fixture.key(address)];
  expect((await show(fixture, { key: own }, {}, address)).status).toBe(401);
  expect((await show(fixture, { key: other })).status).toBe(401);
  expect((await show(fixture, { key: own })).status).toBe(200);
});

test('a key that is late, for something else, made up or no key is refused', { tags: ['S2'] }, async () => {
  await using fixture = await WebFixture.start();
  const late = fixture.key();
  fixture.now += 600_000;
  const [live, more] = [await fixture.ticket(), fixture.key()];
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
  await using fixture = await WebFixture.start();
  const key = fixture.key();
  for (const origin of ['http://evil.example', fixture.origin])
    expect((await show(fixture, { key }, { origin })).status).toBe(403);
  expect((await show(fixture, { key }, { origin: `http://${fixture.webHost}` })).status).toBe(200);
});

test('a key shown on a connection of another user is refused, stays good, and is in the log once', {
  tags: ['S2'],
}, async () => {
  await using fixture = await WebFixture.start({ isOwnPeer: false });
  const key = fixture.key();
  for (let i = 0; i < 3; i++) {
    const refused = await show(fixture, { key });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      403,
      { error: { code: 'NOT_ALLOWED' } },
    ]);
  }
  expect(fixture.errors).toEqual([expect.stringContaining('Another user')]);
  expect(JSON.stringify(fixture.errors)).not.toContain(key);
  fixture.isOwnPeer = true;
  expect((await show(fixture, { key })).status).toBe(200);
});

// Only root can be somebody else.
test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'another user who read the key on a command line does not get a session for it',
  async () => {
    await using fixture = await WebFixture.start();
    const key = fixture.key();
    expect(await showAs(65_534, fixture.webHost, key)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await showAs(0, fixture.webHost, key)).toContain('"token"');
  },
);

describe('a proof', () => {
  const proofAt = (fixture: WebFixture, session: string, host?: string) =>
    fixture.ask(`/api/proof?session=${session}&nonce=${NONCE}`, { host });

  test('shows a page that this is the hub of its session, at this host, without the token', async () => {
    await using fixture = await WebFixture.start();
    const { token } = fixture.sessions.open(fixture.webHost);
    const expected = createHmac('sha256', token).update(`${NONCE} ${fixture.webHost}`).digest('hex');
    const { text } = await proofAt(fixture, token.split('.')[0]!);
    expect(JSON.parse(text)).toEqual({ proof: expected });
  });

  test('is not given for a session of another host, or one that is over', async () => {
    await using fixture = await WebFixture.start();
    const { token } = fixture.sessions.open(fixture.webHost);
    const id = token.split('.')[0]!;
    const [here, address] = [fixture.webHost, fixture.openAtAddress()];
    for (const [session, host] of [
      [id, address],
      ['gone', here],
      ['', here],
      [token, here],
    ] as const) {
      const { status, text } = await proofAt(fixture, session, host);
      expect([status, JSON.parse(text)]).toMatchObject([401, { error: { code: 'SESSION_OVER' } }]);
    }
  });

  test.each(['', 'short', 'x'.repeat(129), 'with%20a%20space%20in%20it', 'sixteen%0aletters'])(
    'takes a nonce of bounded length and plain letters: %j',
    async nonce => {
      await using fixture = await WebFixture.start();
      expect((await fixture.ask(`/api/proof?nonce=${nonce}`)).status).toBe(400);
    },
  );
});
