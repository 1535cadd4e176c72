import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, expect, test } from 'vitest';
import { callTool, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad();
afterAll(() => squad[Symbol.asyncDispose]());

interface McpConfig {
  mcpServers: { squad: { type: string; url: string; headers: Record<string, string> } };
}

test('a template that hands over mcpConfigFile lets its agent reach Squad as its run, until it has ended', async () => {
  squad.script('agent.sh', 'cat "$1" > config.json; while [ ! -e release ]; do sleep 0.02; done');
  const env = { RUN_TEMPLATE: './agent.sh <%= mcpConfigFile %>' };
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'architect', 'x'], { env });
  const config = await until('it has its configuration', async (): Promise<McpConfig | null> => {
    const file = join(squad.workspace, 'config.json');
    if (!existsSync(file)) return null;
    return JSON.parse(readFileSync(file, 'utf8') || 'null');
  });
  const { url, headers } = config.mcpServers.squad;
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
    'squad_status',
    'squad_decision_search',
    'ask_user',
  ]);
  expect(JSON.stringify(await callTool(client, 'squad_status'))).toContain(runIds[0]);
  squad.write('release', '');
  await until('its token is worth nothing any more', async () => {
    const answer = await fetch(url, { method: 'POST', headers, body: '{}' });
    return answer.status === 401;
  });
});

test('a template that does not ask for it gets none, and no token is made', async () => {
  const env = { RUN_TEMPLATE: '/bin/sh -c true' };
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], { env });
  await squad.run(['wait', runIds[0]!]);
  expect(existsSync(join(squad.home, 'runs', runIds[0]!, 'turn-1', 'identity.json'))).toBe(false);
});
