import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { isAlive } from '../support/squad.ts';
import { BEHAVIOURS } from './hostile/behaviours.ts';
import { FORMS } from './hostile/secrets.ts';
import type { Json } from './message.ts';
import { echoBlock, hostileBlock, sdkEchoBlock, startHttpEcho, startSseEcho } from './start.ts';
import { StrictClient } from './strict-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-servers-'));
const file = (name: string) => join(folder, name);
afterEach(() => {
  for (const pid of startedChildren()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  for (const name of ['pids', 'behaviour', 'count']) rmSync(file(name), { force: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

const startedChildren = () =>
  existsSync(file('pids')) ? readFileSync(file('pids'), 'utf8').trim().split('\n').map(Number) : [];

const connect = ({ command, args = [] }: { command: string; args?: string[] }, env = {}) =>
  new StrictClient(command, args, env);

async function call(client: StrictClient, args: Json = {}): Promise<'result' | 'own' | 'error' | 'nothing'> {
  const answer = await client.ask('tools/call', { name: 'echo', arguments: { nonce: 'n-1', ...args } });
  if (!answer) return 'nothing';
  if (answer.error) return 'error';
  const { content } = answer.result as { content?: { text: string }[] };
  return content?.[0]?.text === 'n-1' ? 'result' : 'own';
}

describe('the hostile server', () => {
  it('can do more than enough', () => {
    expect(Object.keys(BEHAVIOURS).length).toBeGreaterThanOrEqual(60);
  });

  it.each(Object.entries(BEHAVIOURS))('%s: does what it says', async (name, behaviour) => {
    await using client = connect(hostileBlock(name), { SECRET: 'hunter2hunter2', PIDS_FILE: file('pids') });
    const tools = (await client.open()) ? await client.tools() : null;
    expect(tools !== null).toBe(behaviour.comesUp);
    // Nobody calls a server that did not come up, but one that was only slow.
    if (behaviour.comesUp || behaviour.call !== 'nothing') expect(await call(client)).toBe(behaviour.call);
  });

  it('changes its ways while it runs, by a word in a file', async () => {
    await using client = connect(hostileBlock('honest'), { BEHAVIOUR_FILE: file('behaviour') });
    expect(await client.open()).toBe(true);
    expect(await call(client)).toBe('result');
    writeFileSync(file('behaviour'), 'is-error\n');
    expect(await call(client)).toBe('own');
    writeFileSync(file('behaviour'), 'protocol-error');
    expect(await call(client, { code: -32002 })).toBe('error');
    rmSync(file('behaviour'));
    expect(await call(client)).toBe('result');
  });

  it.each(Object.keys(BEHAVIOURS).filter(name => `${name}-told` in BEHAVIOURS))(
    '%s: the list is another one after the first call, and only one that tells says so',
    async name => {
      for (const tells of [false, true]) {
        await using client = connect(hostileBlock(tells ? `${name}-told` : name));
        await client.open();
        const before = await client.tools();
        await call(client);
        expect(await client.tools()).not.toEqual(before);
        await call(client);
        const told = client.messages.filter(({ method }) => method === 'notifications/tools/list_changed');
        expect(told).toHaveLength(tells ? 1 : 0);
      }
    },
  );

  it('lets its secret out in every form it knows', async () => {
    await using client = connect(hostileBlock('secret-in-result'), { SECRET: 'p@ss"wörd/1' });
    await client.open();
    const answer = JSON.stringify(await client.ask('tools/call', { name: 'echo' }));
    for (const form of Object.values(FORMS)) expect(answer).toContain(JSON.stringify(form('p@ss"wörd/1')));
  });

  it('keeps running on SIGTERM, and leaves children in another session', async () => {
    await using client = connect(hostileBlock('stubborn-parent'), { PIDS_FILE: file('pids') });
    await client.open();
    client.child.stdin!.end();
    client.child.kill('SIGTERM');
    const children = startedChildren();
    expect(children).toHaveLength(2);
    for (const pid of [...children, client.child.pid!]) expect(isAlive(pid)).toBe(true);
  });
});

describe('the echo servers', () => {
  it('echo, count and tell of progress without a library', async () => {
    await using client = connect(echoBlock(), { COUNT_FILE: file('count') });
    expect(await client.open()).toBe(true);
    expect((await client.tools())!.map(({ name }) => name)).toEqual(['echo', 'count', 'progress', 'about']);
    expect(await call(client)).toBe('result');
    const ask = async (name: string, args: Json, _meta = {}) =>
      (await client.ask('tools/call', { name, arguments: args, _meta }))?.result;
    expect(await ask('count', { nonce: 'a' })).toEqual({ content: [{ type: 'text', text: '1' }] });
    expect(await ask('count', { nonce: 'b' })).toEqual({ content: [{ type: 'text', text: '2' }] });
    expect(readFileSync(file('count'), 'utf8')).toBe('a\nb\n');
    await ask('progress', { steps: 3 }, { progressToken: 'p' });
    const notices = client.messages.filter(({ method }) => method === 'notifications/progress');
    expect(notices.map(({ params }) => params!.progress)).toEqual([1, 2, 3]);
  });

  it('answers nothing that was cancelled', async () => {
    await using client = connect(echoBlock());
    await client.open();
    expect(await client.ask('tools/call', { name: 'echo', arguments: { nonce: 'x', delayMs: 40 } })).toBe(
      null,
    );
    const id = 3; // the handshake, its ping, then this
    client.notify('notifications/cancelled', { requestId: id });
    const later = await client.ask('tools/call', { name: 'progress', arguments: { steps: 0 } });
    expect(later).not.toBe(null);
    expect(client.messages.some(message => message.id === id)).toBe(false);
  });

  it.each(['legacy', 'modern'] as const)(
    'the one made with the SDK serves %s clients over HTTP',
    async era => {
      await using server = await startHttpEcho();
      const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
      expect(await client.callTool({ name: 'echo', arguments: { nonce: 'n' } })).toMatchObject({
        content: [{ text: 'n' }],
      });
      await client.close();
    },
  );

  it('and a strict one over stdio', async () => {
    await using client = connect(sdkEchoBlock());
    expect(await client.open()).toBe(true);
    expect((await client.tools())!.map(({ name }) => name)).toEqual(['echo', 'add']);
  });

  it('the small one serves clients of the older HTTP transport', async () => {
    await using server = await startSseEcho();
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new SSEClientTransport(new URL(server.url)));
    expect(await client.callTool({ name: 'echo', arguments: { nonce: 'n' } })).toMatchObject({
      content: [{ text: 'n' }],
    });
    await client.close();
  });
});
