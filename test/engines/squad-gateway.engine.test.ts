/** Tools of other MCP servers, as the real CLIs show them to their model and call them: what the role has, and nothing else. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditRecord } from '../../src/schema/audit.ts';
import { echoBlock, hostileBlock, sdkEchoBlock, variable } from '../servers/start.ts';
import type { TestSquad } from '../support/squad.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const PATIENCE_MS = 60_000;
const TOKEN = 'token-4hT9sLw0';
/** As long as an id can be. */
const LONG = 'a-server-with-a-long-id1';

const ROLES = {
  coder: 'You code.\n',
  reviewer: '---\npermission: read\n---\nYou review.\n',
  keeper: '---\nenv: [ECHO_TOKEN]\n---\nYou keep the keys.\n',
  unlucky: 'You have no luck.\n',
};

const config = (countFile: string) => ({
  servers: {
    echo: echoBlock({ env: { COUNT_FILE: countFile, TOKEN: variable('ECHO_TOKEN') } }),
    sdk: sdkEchoBlock(),
    [LONG]: hostileBlock('long-names'),
    broken: hostileBlock('dies-at-start'),
    frail: hostileBlock('dies-before-answer'),
  },
  agentServers: { coder: ['echo', 'sdk'], reviewer: ['echo', LONG], unlucky: ['broken', 'frail', 'echo'] },
  toolRestrictions: {
    coder: { echo: { exclude: ['about'] } },
    reviewer: { echo: { include: ['about', 'echo'] } },
    unlucky: { echo: { include: ['echo'] } },
  },
  argumentRules: [{ role: 'coder', server: 'echo', tool: 'count', argument: 'nonce', deny: ['secret*'] }],
});

const inForce = async (squad: TestSquad, content: object) => {
  squad.write('.squad/mcp-config.json', JSON.stringify(content));
  const { code, stderr } = await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  expect(code, stderr).toBe(0);
};

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  let countFile: string;
  beforeAll(async () => {
    it = await EngineSquad.start([name], {
      roles: ROLES,
      prepare: async squad => {
        Object.assign(squad.env, { ECHO_TOKEN: TOKEN, IS_SANDBOX: '1' });
        countFile = join(squad.root, 'count');
        await inForce(squad, config(countFile));
      },
    });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const request = (tag: string, step: number) =>
    it.server.requests.findLast(call => call.tag === tag && call.step === step)!;
  const told = (tag: string, step: number) => request(tag, step + 1).toolResults.at(-1);

  test('probe', async () => {
    const steps = [
      { call: 'echo__echo', arguments: { nonce: 'nonce-1' } },
      { unlisted: 'echo__about', arguments: {} },
      { call: 'echo__count', arguments: { nonce: 'secret-1' } },
      { call: 'echo__count', arguments: { nonce: 'open-1' } },
      { call: 'sdk__add', arguments: { a: 20, b: 22 } },
      { text: 'Done.' },
    ];
    const result = await it.spawn(name, `Work. ${mock(steps, 'coder')}`, { roleId: 'coder' });
    console.log(name, result.status, result.error, request('coder', 0).tools.filter(n => n.includes('squad')));
    for (const i of [0,1,2,3,4]) console.log(name, i, told('coder', i)?.slice(0, 400));
    const audit = await it.squad.json<{ entries: AuditRecord[] }>(['audit', '--run', result.spawn_id]);
    console.log(audit.entries.map(e => [e.server, e.kind, e.name, e.decision, e.outcome].join(' ')));
    console.log(readFileSync(countFile, 'utf8'));
    const steps2 = [
      { call: 'echo__about', arguments: { env: ['TOKEN'] } },
      { unlisted: 'echo__count', arguments: { nonce: 'other' } },
      { unlisted: 'sdk__add', arguments: { a: 20, b: 22 } },
      { text: 'Done.' },
    ];
    const result2 = await it.spawn(name, `Work. ${mock(steps2, 'reviewer')}`, { roleId: 'reviewer' });
    const tools = request('reviewer', 0).tools.filter(n => n.includes('squad'));
    console.log(name, result2.status, result2.error, tools, tools.map(t => t.length));
    for (const i of [0,1,2]) console.log(name, i, told('reviewer', i)?.slice(0, 400));
    console.log(readFileSync(countFile, 'utf8'));
    const steps3 = [
      { call: 'frail__echo', arguments: { nonce: 'f' } },
      { call: 'echo__echo', arguments: { nonce: 'nonce-3' } },
      { text: 'Done.' },
    ];
    const result3 = await it.spawn(name, `Work. ${mock(steps3, 'unlucky')}`, { roleId: 'unlucky' });
    const first = request('unlucky', 0);
    console.log(name, result3.status, result3.error, first.tools.filter(n => n.includes('squad')));
    console.log('NOTICE', first.system.includes('of your role'), first.turns.some(t => t.text.includes('of your role')));
    for (const i of [0,1]) console.log(name, i, told('unlucky', i)?.slice(0, 600));
  });

  test('live', async () => {
    const steps = [
      { shell: 'touch started; until [ -e go ]; do sleep 0.2; done' },
      { call: 'squad_status', arguments: {} },
      { unlisted: 'echo__progress', arguments: { steps: 1 } },
      { unlisted: 'echo__about', arguments: {} },
      { text: 'Done.' },
    ];
    const { spawn_id } = await it.begin(name, `Wait. ${mock(steps, 'live')}`, { roleId: 'coder', permission: 'edit' });
    await until('waits', () => existsSync(join(it.squad.workspace, 'started')), PATIENCE_MS);
    const changed = config(countFile);
    changed.toolRestrictions.coder.echo.exclude = ['progress'];
    await inForce(it.squad, changed);
    await until('in force', async () => {
      const { tools } = await it.squad.json<{ tools: { name: string; isVisible: boolean }[] }>(['mcp', 'tools', '--role', 'coder']);
      return tools.some(t => t.name === 'echo__about' && t.isVisible);
    });
    it.squad.write('go', '');
    const r = await it.end(spawn_id);
    console.log(name, r.status, r.error);
    for (const i of [0, 1, 2, 3, 4]) console.log(name, 'step', i, request('live', i)?.tools.filter(n => /echo__/.test(n)));
    for (const i of [0, 1, 2, 3]) console.log(name, i, told('live', i)?.slice(0, 300));
  });
});
