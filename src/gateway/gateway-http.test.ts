import { expect, onTestFinished, test } from 'vitest';
import { realTimers, type Timers } from '../base/clock.ts';
import { createServiceTags } from '../process/programs/service.ts';
import { createProcessTable } from '../process/table/process-table.ts';
import { until } from '../process/testing/turn-fixture.ts';
import { serve, serveSample, type TestServer } from '../wire/upstream/testing/http-servers.ts';
import { serveSse } from '../wire/upstream/testing/sse-server.ts';
import { firstText, GatewayFixture, plainRequest } from './testing/gateway-fixture.ts';
import { createConnect } from './upstream/connect.ts';

function setUp(type: 'http' | 'sse', url: string, timers?: Timers) {
  const fixture = new GatewayFixture({
    connect: createConnect({
      table: createProcessTable(),
      nextTag: createServiceTags('no processes here').next,
      clientInfo: { name: 'squad', version: '0' },
    }),
    config: { servers: { far: { type, url, tools: ['*'], cooldown: 1_000 } }, shared: ['far'] },
    timers,
  });
  onTestFinished(() => fixture.gateway.close());
  const status = async () => (await fixture.gateway.status(null))[0]!;
  return { fixture, status, view: fixture.view(fixture.run()) };
}

async function closedAfter<T extends TestServer>(server: T): Promise<T> {
  onTestFinished(() => server.close().catch(() => {}));
  return server;
}

test.each([
  ['Streamable HTTP, modern', 'http', 'modern', (port?: number) => serveSample('modern', port)],
  ['Streamable HTTP, legacy', 'http', 'legacy', (port?: number) => serveSample('legacy', port)],
  ['HTTP with SSE', 'sse', 'legacy', (port?: number) => serveSse(undefined, port)],
] as const)(
  'over %s: listed, called with progress, lost with its server and found again',
  async (_, type, era, start) => {
    const server = await start();
    const { fixture, status, view } = setUp(type, server.url, realTimers);
    expect((await view.tools()).map(({ name }) => name)).toContain('far__count');
    expect(await status()).toMatchObject({ health: 'up', era, serverName: 'sample', pid: null });
    const steps: number[] = [];
    const counted = await view.call(
      'far__count',
      { arguments: {} },
      plainRequest({ progress: ({ progress }) => steps.push(progress) }),
    );
    expect(firstText(counted)).toBe('three');
    expect(steps).toEqual([1, 2, 3]);

    const held = view.call('far__hold', { arguments: {} }, plainRequest());
    await until(() => server.holds.includes('held'), 'the call that is under way');
    await server.close();
    expect(firstText(await held)).toMatch(/not known whether the call was carried out; it was not repeated/);

    await closedAfter(await start(Number(new URL(server.url).port)));
    const echo = () => view.call('far__echo', { arguments: { text: 'again' } }, plainRequest());
    let answer = await echo();
    await until(async () => {
      if (answer?.isError === true) answer = await echo();
      return answer?.isError !== true;
    }, 'the server to be back');
    expect(firstText(answer)).toBe('again');
    expect(await status()).toMatchObject({ health: 'up', restarts: 1 });
    expect(fixture.notes).toEqual([expect.stringMatching(/The MCP server far failed during the run/)]);
  },
);

test('a session the server has forgotten is lost, and the next one is there in a moment', async () => {
  const server = await closedAfter(await serveSample('legacy'));
  const { status, view } = setUp('http', server.url, realTimers);
  await view.tools();
  server.forget();
  const echo = () => view.call('far__echo', { arguments: { text: 'hi' } }, plainRequest());
  expect(await echo()).toMatchObject({ isError: true });
  await until(async () => (await echo())?.isError !== true, 'the next session');
  expect(await status()).toMatchObject({ health: 'up', restarts: 1 });
});

test('a server that refuses the login says so, and is not asked again by itself', async () => {
  const server = await closedAfter(await serve((_request, response) => void response.writeHead(401).end()));
  const { fixture, status, view } = setUp('http', server.url);
  expect(await view.tools()).toEqual([]);
  expect(await status()).toMatchObject({
    health: 'unusable',
    retryAt: null,
    fault: 'The server refused access (HTTP 401).',
  });
  const asked = server.asked.length;
  await fixture.time.pass(3_600_000);
  expect(await status()).toMatchObject({ health: 'unusable', failures: 1 });
  expect(firstText(await view.call('far__echo', {}, plainRequest()))).toMatch(/HTTP 401/);
  expect(server.asked).toHaveLength(asked);
  expect(fixture.notes).toEqual([expect.stringMatching(/far was not available: .*HTTP 401/)]);
});

test('a server that is overloaded is left alone for as long as it says', async () => {
  const server = await closedAfter(
    await serve((_request, response) => void response.writeHead(429, { 'retry-after': '20' }).end()),
  );
  const { fixture, status, view } = setUp('http', server.url);
  expect(await view.tools()).toEqual([]);
  const { health, retryAt } = await status();
  expect([health, retryAt]).toEqual(['retrying', fixture.time.now() + 20_000]);
  const asked = server.asked.length;
  await fixture.time.pass(19_999);
  expect(await status()).toMatchObject({ health: 'retrying', failures: 1 });
  expect(server.asked).toHaveLength(asked);
  await fixture.time.pass(1);
  await until(async () => (await status()).failures === 2, 'the second try');
  expect(server.asked.length).toBeGreaterThan(asked);
});
