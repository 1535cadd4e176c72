import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { realTimers } from '../../base/clock.ts';
import { createServiceTags } from '../../process/programs/service.ts';
import { createProcessTable } from '../../process/table/process-table.ts';
import { isAlive } from '../../process/testing/turn-fixture.ts';
import { McpConfig } from '../../schema/mcp-config.ts';
import { firstText, GatewayFixture, local, plainRequest } from '../testing/gateway-fixture.ts';
import { type Connect, createConnect } from '../upstream/connect.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-own-servers-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const echo = fileURLToPath(new URL('../../../test/servers/echo.ts', import.meta.url));
const tags = createServiceTags(folder);
const server = (more: object = {}) =>
  local({ command: process.execPath, args: [echo], timeout: 20_000, instance: 'per-agent', ...more });
const configOf = (servers: Record<string, unknown>) =>
  McpConfig.parse({ servers, shared: Object.keys(servers) });

/** A workspace with a server of its own, and a run that has its own instead. */
function setUp(servers: Record<string, unknown> | null, startTimeouts?: Record<string, number>) {
  const fixture = new GatewayFixture({
    connect: createConnect({
      table: createProcessTable(),
      nextTag: tags.next,
      clientInfo: { name: 'squad', version: '0' },
    }),
    config: configOf({ workspace: server() }),
    variables: { ITS_SECRET: 'whole-environment', THE_KEY: 'of-its-model' },
    secrets: [{ name: 'THE_KEY', value: 'of-its-model' }],
    timers: realTimers,
    workspace: folder,
  });
  const run = fixture.run(null, {
    subagent: 'helper',
    servers: servers && { ...configOf(servers), startTimeouts },
  });
  const status = async () =>
    (await fixture.gateway.status(folder)).filter(({ server }) => server !== 'workspace');
  return { fixture, run, status };
}

test('a run with servers of its own has those, and nothing of the workspace’s, also when that changes', async () => {
  const { fixture, run } = setUp({ own: server() });
  await using _ = fixture;
  const view = fixture.view(run);
  const names = async () => (await view.tools()).map(({ name }) => name);
  const all = ['own__about', 'own__count', 'own__echo', 'own__progress'];
  expect(await names()).toEqual(all);
  fixture.reconfigure(configOf({ other: server() }));
  expect(await names()).toEqual(all);
  expect(fixture.changes.filter(change => change.startsWith(run.id) && !change.endsWith('tools'))).toEqual(
    [],
  );
  expect(fixture.keepers).toEqual([]);
});

test('a subagent without servers has none', async () => {
  const { fixture, run } = setUp(null);
  await using _ = fixture;
  fixture.gateway.prepare(run);
  expect(fixture.gateway.viewOf(run)).toBeNull();
});

test('they start when they are asked for, with the whole environment and the mark of the run, and end with it', async () => {
  const { fixture, run, status } = setUp({ own: server() });
  await using _ = fixture;
  fixture.gateway.prepare(run);
  expect(await status()).toMatchObject([]);
  const view = fixture.view(run);
  await view.tools();
  const args = { env: ['ITS_SECRET', 'SQUAD_SERVER_OF', 'SQUAD_RUN_ID'] };
  const about = firstText(await view.call('own__about', { arguments: args }, plainRequest()));
  expect(about).toContain('whole-environment');
  expect(about).toContain(run.id);
  expect(fixture.audit).toMatchObject([{ runId: run.id, roleId: null, subagent: 'helper', name: 'about' }]);
  const [{ pid } = { pid: null }] = await status();
  expect(isAlive(pid!)).toBe(true);
  await fixture.gateway.release(run.id);
  expect(isAlive(pid!)).toBe(false);
  expect(await status()).toEqual([]);
});

test('nothing of them is pinned', async () => {
  const { fixture, run, status } = setUp({ own: server() });
  await using _ = fixture;
  await fixture.view(run).tools();
  expect(await status()).toMatchObject([{ server: 'own', tools: 4, pending: 0, runs: 1 }]);
  expect([...fixture.pins.keys()].filter(key => key.includes('"own"'))).toEqual([]);
});

test('none of them reveals a secret of another one, or of their agent', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a server are written like this
  const { fixture, run } = setUp({ own: server(), other: server({ env: { TOKEN: '${ITS_SECRET}' } }) });
  await using _ = fixture;
  const view = fixture.view(run);
  const args = { env: ['ITS_SECRET', 'THE_KEY'] };
  expect(firstText(await view.call('own__about', { arguments: args }, plainRequest()))).toContain(
    '{"ITS_SECRET":"[secret ITS_SECRET]","THE_KEY":"[secret THE_KEY]"}',
  );
});

test('a server that hangs at its start is given up after half a minute', { tags: ['E10'] }, async () => {
  const never: Connect = ({ signal }) =>
    new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
  const fixture = new GatewayFixture({ connect: never, config: configOf({}), workspace: folder });
  await using _ = fixture;
  const servers = configOf({ hung: server({ timeout: 300_000 }) });
  const list = fixture.view(fixture.run(null, { subagent: 'helper', servers })).tools();
  const told = expect(list).rejects.toThrow('it was not ready within 30 s');
  await fixture.time.pass(30_000);
  await told;
});

test('the refusal of a list names the server, its command, its last output, and the next step', {
  tags: ['E10'],
}, async () => {
  const hung = local({
    command: process.execPath,
    args: ['-e', 'console.error("waiting for the moon"); setInterval(() => {}, 1_000)'],
    timeout: 60_000,
    instance: 'per-agent',
  });
  // Time for it to come up and say something, on a slow machine.
  const { fixture, run } = setUp({ own: server(), hung }, { hung: 5_000 });
  await using _ = fixture;
  await expect(fixture.view(run).tools()).rejects.toThrow(
    /server hung \(\S*node -e console.*\) cannot be used: it was not ready within 5 s\. It last wrote: waiting for the moon\. Fix `mcpServers\.hung` .* `timeout`/,
  );
});

test('a server that ended is not said to need more time, whatever it wrote', async () => {
  const ended = { args: ['-e', 'console.error("no license found within the folder"); process.exit(3)'] };
  const { fixture, run } = setUp({ own: server(), ended: server(ended) });
  await using _ = fixture;
  const refusal: unknown = await fixture
    .view(run)
    .tools()
    .catch(error => error);
  expect(refusal).toMatchObject({
    message: expect.stringMatching(/no license found within the folder\. Fix .*, or remove it\.$/),
  });
});

test.each([
  {
    what: 'is not there',
    given: { command: './no-such-program' },
    says: /gone \(\.\/no-such-program .*\) cannot be used: .*no-such-program/,
  },
  {
    what: 'lacks a variable',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a server are written like this
    given: { env: { TOKEN: '${NOT_SET}' } },
    says: /gone .* cannot be used: the variable NOT_SET/,
  },
])('a list is refused when a server $what: the run is made of them', async ({ given, says }) => {
  const { fixture, run } = setUp({ own: server(), gone: server(given) });
  await using _ = fixture;
  await expect(fixture.view(run).tools()).rejects.toThrow(says);
});
