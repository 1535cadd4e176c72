import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const script = (lines: string) => `Do it.\n\`\`\`script\n${lines}\n\`\`\``;

beforeAll(async () => {
  squad.write('.squad/.keep', '');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Heard {
  updates: string[];
  log: { level: string; logger?: string; data: { spawn_id?: string; status?: string } }[];
}

function listen(client: Client): Heard {
  const heard: Heard = { updates: [], log: [] };
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.updates.push(params.uri),
  );
  client.setNotificationHandler(
    'notifications/message',
    ({ params }) => void heard.log.push(params as never),
  );
  return heard;
}

const read = async (client: Client, uri: string) => {
  const { contents } = await client.readResource({ uri });
  return contents[0] as { uri: string; mimeType: string; text: string };
};
const start = (client: Client, lines: string, more: object = {}) =>
  callTool<{ spawn_id: string; status: string }>(client, 'spawn_agent', {
    prompt: script(lines),
    async: true,
    ...more,
  });

describe.each([
  { era: 'legacy', modern: false },
  { era: 'modern', modern: true },
])('in the $era era', ({ era, modern }) => {
  async function watching(client: Client, uris: string[]): Promise<void> {
    if (modern) await client.listen({ resourceSubscriptions: uris });
    else for (const uri of uris) await client.subscribeResource({ uri });
  }

  test('the end of a run is an update of its resource, which then has the result', {
    tags: ['C4'],
  }, async () => {
    const client = await squad.client({ modern });
    const heard = listen(client);
    const { spawn_id } = await start(client, `await go-${era}\nreport Well done.`);
    const uri = `agents://runs/${spawn_id}`;
    await watching(client, [uri, 'agents://iac-log', 'agents://context']);
    expect(JSON.parse((await read(client, uri)).text)).toMatchObject({ spawn_id, success: null });
    await until('its start is in the log', async () =>
      (await read(client, 'agents://iac-log')).text.includes(`start · ${spawn_id}`),
    );
    await until('the state is there', async () =>
      (await read(client, 'agents://context')).text.includes(spawn_id),
    );
    heard.updates.length = 0;
    squad.write(`go-${era}`, '');
    await until('all three were updated', () =>
      [uri, 'agents://iac-log', 'agents://context'].every(each => heard.updates.includes(each)),
    );
    const page = await read(client, uri);
    expect(page.mimeType).toBe('application/json');
    expect(JSON.parse(page.text)).toMatchObject({ spawn_id, status: 'completed', result: 'Well done.' });
    const log = await read(client, 'agents://iac-log');
    expect(log.mimeType).toBe('text/markdown');
    expect(log.text).toMatch(new RegExp(`end · ${spawn_id}.*completed`));
  });

  test('a workspace without .squad has them too, and stays as it is', { tags: ['C7'] }, async () => {
    const elsewhere = `elsewhere-${era}`;
    squad.write(`${elsewhere}/.keep`, '');
    const client = await squad.client({ modern, args: ['--workspace', join(squad.workspace, elsewhere)] });
    for (const uri of ['agents://iac-log', 'agents://context'])
      expect((await read(client, uri)).text).toContain('No agent has run in this workspace yet.');
    const { spawn_id } = await start(client, 'report The cart is fixed. Two tests were added.');
    const line = await until('its end is in the log', async () =>
      (await read(client, 'agents://iac-log')).text
        .split('\n')
        .find(each => each.includes(`end · ${spawn_id}`)),
    );
    expect(line).toMatch(/ · completed · .* → The cart is fixed\.$/);
    await until('the state is there', async () =>
      (await read(client, 'agents://context')).text.includes(spawn_id),
    );
    expect(readdirSync(join(squad.workspace, elsewhere))).toEqual(['.keep']);
  });

  test('the resources are listed, and one that is not there is an error', async () => {
    const client = await squad.client({ modern });
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(uris.slice(0, 2)).toEqual(['agents://iac-log', 'agents://context']);
    expect((await client.listResourceTemplates()).resourceTemplates[0]).toMatchObject({
      uriTemplate: 'agents://runs/{id}',
    });
    for (const uri of ['agents://runs/run_0000000000', 'agents://runs/../token', 'agents://nothing'])
      await expect(read(client, uri)).rejects.toMatchObject({ message: expect.stringContaining(uri) });
  });
});

describe('a log message', () => {
  test('tells the connection that started the run, and no other, of its end', { tags: ['C4'] }, async () => {
    const starter = await squad.client();
    const other = await squad.client();
    const [heard, overheard] = [listen(starter), listen(other)];
    const { spawn_id } = await start(starter, 'report x', { task_summary: 'Named' });
    await until('it was notified', () => heard.log.length > 0);
    expect(heard.log).toMatchObject([
      {
        level: 'info',
        logger: 'squad',
        data: { spawn_id, status: 'completed', success: true, task_summary: 'Named' },
      },
    ]);
    // The answer to the ping proves that no notification came before it on the other connection.
    await other.ping();
    expect(overheard.log).toEqual([]);
  });

  test('comes for a call that waits only with notify_on_complete', async () => {
    const client = await squad.client();
    const heard = listen(client);
    await start(client, 'report a', { async: false });
    const told = await start(client, 'report b', { async: false, notify_on_complete: true });
    await until('it was notified', () => heard.log.length > 0);
    expect(heard.log.map(({ data }) => data.spawn_id)).toEqual([told.spawn_id]);
  });

  test('does not come with async when that was declined', async () => {
    const client = await squad.client();
    const heard = listen(client);
    await start(client, 'report a', { notify_on_complete: false });
    const told = await start(client, 'sleep 100ms\nreport b');
    await until('the second was reported', () =>
      heard.log.some(({ data }) => data.spawn_id === told.spawn_id),
    );
    expect(heard.log).toHaveLength(1);
  });

  test('reaches the session of an HTTP client that started it', async () => {
    const url = await until(
      'the port is bound',
      async () => (await squad.json<{ url: string | null }>(['hub', 'start'])).url,
    );
    const token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
    const connect = async () => {
      const client = new Client({ name: 'http', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
      const headers = { authorization: `Bearer ${token}`, 'squad-workspace': squad.workspace };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      return client;
    };
    const [starter, other] = [await connect(), await connect()];
    const [heard, overheard] = [listen(starter), listen(other)];
    await until('its listening stream is open and it is notified', async () => {
      await start(starter, 'report x', { engine: 'scripted' });
      return heard.log.length > 0;
    });
    await other.ping();
    expect(overheard.log).toEqual([]);
    await starter.close();
    await other.close();
  });
});
