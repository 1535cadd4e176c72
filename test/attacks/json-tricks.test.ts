import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plainRequest } from '../../src/gateway/testing/gateway-fixture.ts';
import { McpConfig } from '../../src/schema/mcp-config.ts';
import { checkJson } from '../../src/workspace/files/json-file.ts';
import { ENVELOPE, RawMcp } from '../support/raw-mcp.ts';
import { realGateway } from '../support/real-gateway.ts';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, post, requestOf, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { JSON_TRICKS } from './corpus/json-tricks.ts';
import { Recorded, toolNamed } from './recorded.ts';
import { SocketLine } from './socket-line.ts';

const TRICKS = Object.entries(JSON_TRICKS);
const squad = new TestSquad();
const kept = new Recorded(squad.root, 'kept', { tools: [toolNamed('say')], says: 'said' });
let agent: Agent;
let relay: RawMcp;
let hubPid: number;

beforeAll(async () => {
  await squad.unlimited();
  await configure(squad, { servers: { kept: kept.block() }, shared: ['kept'] });
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  await agent.sees('kept__say');
  hubPid = await squad.hubPid();
  const identity = join(squad.home, 'runs', agent.id, 'turn-1', 'identity.json');
  relay = await RawMcp.legacy(squad, { args: ['--identity', identity] });
});
afterAll(async () => {
  await relay.close();
  await squad[Symbol.asyncDispose]();
});

let calls = 0;

/** The hub is the one it was, and serves as it did: also what looks at inherited names. */
async function isWell(): Promise<void> {
  expect(await agent.theirs()).toEqual(['kept__say']);
  // Only this call counts: a long one of the test before may reach the server after it was answered.
  const plain = ++calls;
  const { message } = await agent.call('kept__say', { plain });
  expect(JSON.stringify(message.result)).toContain('said');
  const own = kept.asked().filter(({ params }) => isDeepStrictEqual(params?.arguments, { plain }));
  expect(own).toMatchObject([{ params: { name: 'kept__say'.slice(6) } }]);
}

describe('JSON that is not what it seems:', () => {
  test.each(TRICKS)(
    '%s over HTTP leaves the hub as it was',
    { tags: ['R27', 'prototype-pollution-and-json-tricks'] },
    async (_, trick) => {
      const places = [
        trick,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${trick}}`,
        `{"jsonrpc":"2.0","id":${trick},"method":"tools/list","params":{}}`,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${trick},"arguments":{},"_meta":${JSON.stringify(ENVELOPE)}}}`,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kept__say","arguments":${trick},"_meta":${JSON.stringify(ENVELOPE)}}}`,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kept__say","arguments":{"deep":${trick}},"_meta":${JSON.stringify(ENVELOPE)}}}`,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kept__say","arguments":{},"_meta":{"x":${trick},${JSON.stringify(ENVELOPE).slice(1)}}}`,
        `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":${trick},"_meta":${JSON.stringify(ENVELOPE)}}}`,
        `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":${trick},"argument":${trick},"_meta":${JSON.stringify(ENVELOPE)}}}`,
      ];
      for (const [at, body] of places.entries()) {
        const { headers } = requestOf(at === 7 ? 'resources/read' : 'tools/call', { name: 'kept__say' });
        const answer = await post(agent.url, { headers, body }, agent.token);
        expect([at, answer.status]).toEqual([at, expect.any(Number)]);
        expect(answer.status, answer.body.slice(0, 300)).toBeLessThan(500);
        expect(answer.body).not.toMatch(/at .*\.(ts|js|cjs):\d+/);
      }
      await isWell();
    },
  );

  test.each(TRICKS)(
    '%s over the relay is answered, and the connection goes on',
    { tags: ['prototype-pollution-and-json-tricks'] },
    async (_, trick) => {
      const id = relay.request('ping') + 1_000_000;
      relay.send(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"kept__say","arguments":{"deep":${trick}}}}`,
        `{"jsonrpc":"2.0","id":${id + 1},"method":"tools/call","params":{"name":"squad_status","arguments":${trick}}}`,
        `{"jsonrpc":"2.0","id":${id + 2},"method":"tools/list","params":${trick}}`,
      );
      for (const each of [id, id + 1, id + 2]) await relay.answer(each);
      expect((await relay.ask('tools/list')).result).toBeDefined();
    },
  );

  test.each(TRICKS)(
    '%s over the socket of our terminal is answered, and the hub lives',
    { tags: ['prototype-pollution-and-json-tricks'] },
    async (_, trick) => {
      using socket = await SocketLine.open(squad);
      for (const operation of ['hub_status', 'show_run', 'start_squad', 'change_setting'])
        expect(await socket.ask(`{"id":1,"operation":"${operation}","input":${trick}}`)).toMatch(
          /"(result|error)"/,
        );
      expect(await socket.ask(`{"id":1,"operation":${trick}}`)).toContain('"error"');
      await isWell();
    },
  );
});

test('after all of them it is still the same hub', async () => {
  expect(await squad.hubPid()).toBe(hubPid);
});

/** A file that is longer is not looked at. */
const IN_FILES = TRICKS.filter(([, trick]) => trick.length < 1024 * 1024);

describe('a configuration', () => {
  test.each(IN_FILES)(
    'with %s in it is refused, or it is plain data',
    { tags: ['prototype-pollution-and-json-tricks'] },
    (_, trick) => {
      const places = [
        trick,
        `{"servers":${trick}}`,
        `{"servers":{"a":${trick}}}`,
        `{"servers":{"a":{"command":"x","tools":["*"],"env":${trick}}}}`,
        `{"servers":{},"agentServers":${trick}}`,
        `{"servers":{},"toolRestrictions":{"coder":${trick}}}`,
        `{"servers":{},"argumentRules":[${trick}]}`,
      ];
      for (const text of places) {
        const checked = checkJson(text, McpConfig);
        if ('value' in checked) {
          expect(Object.keys(checked.value.servers).filter(name => name !== 'a')).toEqual([]);
          for (const part of Object.values(checked.value))
            expect((part as { polluted?: true }).polluted).toBeUndefined();
        } else expect(checked.problems[0].message.length).toBeLessThan(2_000);
      }
      expect(({} as { polluted?: true }).polluted).toBeUndefined();
    },
  );

  test('with a key twice is refused wherever it stands', {
    tags: ['prototype-pollution-and-json-tricks'],
  }, () => {
    for (const text of [
      '{"servers":{},"servers":{}}',
      '{"servers":{"a":{"command":"x","tools":[]},"a":{"command":"y","tools":["*"]}}}',
      '{"servers":{"a":{"command":"x","command":"y","tools":[]}}}',
      '{"servers":{},"shared":[],"sh\\u0061red":["a"]}',
    ])
      expect(checkJson(text, McpConfig)).toMatchObject({
        problems: [{ message: expect.stringMatching(/is repeated/) }],
      });
  });
});

test('nothing an agent or a server says is taken for a prototype', {
  tags: ['prototype-pollution-and-json-tricks'],
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'squad-json-'));
  const server = new Recorded(folder, 'server', { tools: [toolNamed('say')] });
  await using fixture = realGateway({ servers: { server: server.block() }, shared: ['server'] });
  const view = fixture.view(fixture.run());
  await until('it is up', async () => (await view.tools()).length > 0);
  for (const [name, trick] of TRICKS) {
    const args = { value: JSON.parse(trick) as unknown };
    const result = await view
      .call('server__say', { name: 'server__say', arguments: args }, plainRequest())
      .catch((error: Error) => error);
    expect([name, result === null]).toEqual([name, false]);
  }
  expect(({} as { polluted?: true }).polluted).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
  rmSync(folder, { recursive: true });
});
