import { expect, test } from 'vitest';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';
import { firstText, GatewayFixture, local, plainRequest, refusalOf } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';
import { settled } from '../testing/virtual-time.ts';

const ROUTES =
  'It is being tried again now. Still there for your role: mail (mail__echo). ' +
  'Continue with your own tools where they are enough, and say in your report what could not be done without this.';

async function setUp() {
  const [files, mail] = [new MemoryServer(), new MemoryServer()];
  files.resources = [{ uri: 'file:///a', name: 'a' }];
  const fixture = new GatewayFixture({
    connect: connectTo({ files, mail }),
    config: { servers: { files: local({ resources: ['*'] }), mail: local() }, shared: ['files', 'mail'] },
  });
  const [one, other] = [fixture.view(fixture.run()), fixture.view(fixture.run())];
  for (const view of [one, other]) expect(await view.tools()).toHaveLength(2);
  const pinged = Promise.withResolvers<Json>();
  files.answer = async ({ method, params }) => {
    if (method === 'ping') return await pinged.promise;
    if (params.name === 'echo') throw new UpstreamFault('timeout', 'No answer within the time limit.');
    return {};
  };
  const call = async () => refusalOf(await one.call('files__echo', {}, plainRequest())).message;
  const status = async () => (await fixture.gateway.status(null)).find(({ server }) => server === 'files');
  return { fixture, files, one, other, call, status, pinged };
}

test('an agent whose call ran out of time reads what failed, that it is tried again, and what its role still has', {
  tags: ['B7'],
}, async () => {
  const { fixture, call } = await setUp();
  await using _ = fixture;
  expect(await call()).toBe(
    `The server files is unavailable: No answer within the time limit. ${ROUTES} ` +
      'It is not known whether the call was carried out; it was not repeated.',
  );
  expect(fixture.audit.at(-1)).toMatchObject({ server: 'files', outcome: 'timeout' });
});

test('while it is being checked every run is notified, the lists stay, and its status has the fault', async () => {
  const { fixture, one, other, call, status, pinged } = await setUp();
  await using _ = fixture;
  await call();
  const before = fixture.changes.length;
  const told = `The server files is unavailable: No answer within the time limit. ${ROUTES}`;
  expect(refusalOf(await other.call('files__echo', {}, plainRequest())).message).toBe(told);
  await expect(other.readResource('files+file:///a', {}, plainRequest())).rejects.toThrow(told);
  expect(fixture.audit.at(-1)).toMatchObject({ server: 'files', outcome: 'unavailable' });
  expect(firstText(await other.call('mail__echo', {}, plainRequest()))).toBe('{}');
  const at = fixture.time.now();
  expect(await status()).toMatchObject({
    ...{ health: 'checking', since: at, upSince: null, retryAt: at, failures: 1 },
    ...{ fault: 'No answer within the time limit.', tools: 1 },
  });
  expect([(await one.tools()).length, one.notice()]).toEqual([2, null]);
  const lastFault = { message: 'No answer within the time limit.', at };
  await fixture.time.pass(2_000);
  pinged.resolve({});
  await settled();
  expect(await status()).toMatchObject({
    ...{ health: 'up', upSince: at + 2_000, retryAt: null, fault: null, lastFault, failures: 1, restarts: 0 },
  });
  expect(await one.tools()).toHaveLength(2);
  expect([fixture.changes.length, one.notice(), fixture.notes, fixture.warnings]).toEqual([
    ...[before, null, [], []],
  ]);
});

test('a server that answers no probe is removed from the lists, and each run is notified', async () => {
  const { fixture, one, call, status, pinged } = await setUp();
  await using _ = fixture;
  await call();
  pinged.reject(new UpstreamFault('timeout', 'No answer to a ping.'));
  await settled();
  expect(await status()).toMatchObject({ health: 'cooling', failures: 1 });
  expect((await one.tools()).map(({ name }) => name)).toEqual(['mail__echo']);
  expect(one.notice()).toContain('files: No answer within the time limit; it is tried again in 60 s.');
  expect(fixture.notes).toHaveLength(2);
  expect(await call()).toContain('It is tried again in 60 s; calling it before then does not help.');
});
