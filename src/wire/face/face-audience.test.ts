import type { Client } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { httpRig } from '../testing/http-rig.ts';
import { sampleFace } from '../testing/sample-face.ts';
import { socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';
import type { Face } from './face.ts';

const face = (): Face => ({ ...sampleFace().face, logging: true });
const opened: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(opened.splice(0).map(rig => rig.close())));

async function overSocket() {
  const rig = await socketRig({ build: face });
  opened.push(rig);
  return rig;
}
async function overHttp() {
  const rig = await httpRig({ build: face, owner: request => String(request.headers['x-user']) });
  opened.push(rig);
  return rig;
}

function logOf(client: Client): unknown[] {
  const heard: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params));
  return heard;
}

describe('a log message to a legacy client', () => {
  it('arrives over a socket at any time, from the level it chose upwards', async () => {
    const rig = await overSocket();
    const client = await rig.client('legacy');
    const heard = logOf(client);
    const { log } = rig.connections[0]!;
    log({ level: 'debug', logger: 'runs', data: { run: 1 } });
    await until(() => heard.length === 1, 'the message');
    await client.setLoggingLevel('warning');
    log({ level: 'notice', data: 'too quiet' });
    log({ level: 'error', data: 'loud' });
    await until(() => heard.length === 2, 'the loud one');
    expect(heard).toEqual([
      { level: 'debug', logger: 'runs', data: { run: 1 } },
      { level: 'error', data: 'loud' },
    ]);
  });

  it('arrives over HTTP in its own session, from the level that session chose upwards', async () => {
    const { client, handler } = await overHttp();
    const strict = await client('legacy', { 'x-user': 'ann' });
    const open = await client('legacy', { 'x-user': 'ann' });
    await strict.setLoggingLevel('error');
    const [few, all] = [logOf(strict), logOf(open)];
    // Until their listening streams are open, there is nobody to hear it.
    await until(() => {
      handler.log({ level: 'alert', data: 'there?' });
      return few.length > 0 && all.length > 0;
    }, 'both listen');
    handler.log({ level: 'info', data: 'quiet' });
    handler.log({ level: 'error', data: 'last' });
    const hasLast = (heard: unknown[]) => JSON.stringify(heard).includes('"last"');
    await until(() => hasLast(few) && hasLast(all), 'the last one');
    expect(JSON.stringify(few)).not.toContain('"quiet"');
    expect(JSON.stringify(all)).toContain('"quiet"');
  });

  it('is not sent before the handshake, nor is any other notice', async () => {
    const rig = await overSocket();
    const { socket, lines } = await rig.raw();
    const send = (message: object) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    send({ id: 'ping', method: 'ping' });
    await until(() => lines.length === 1, 'a server is there');
    rig.connections[0]!.log({ level: 'alert', data: 'too early' });
    rig.connections[0]!.notices.toolsChanged();
    const clientInfo = { name: 'raw', version: '0' };
    send({
      id: 'hello',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    });
    await until(() => lines.some(line => line.id === 'hello'), 'the handshake');
    rig.connections[0]!.log({ level: 'alert', data: 'now' });
    await until(() => lines.length >= 3, 'the message');
    expect(lines.map(line => line.id ?? line.method)).toEqual(['ping', 'hello', 'notifications/message']);
  });
});

describe('a log message to a modern client', () => {
  it('is never sent outside a request', async () => {
    const socket = await overSocket();
    const http = await overHttp();
    for (const { client, tell } of [
      { client: await socket.client('modern'), tell: socket.connections[0]! },
      { client: await http.client('modern'), tell: http.handler },
    ]) {
      const heard = logOf(client);
      let changes = 0;
      client.setNotificationHandler('notifications/tools/list_changed', () => {
        changes += 1;
      });
      await client.listen({ toolsListChanged: true });
      tell.log({ level: 'emergency', data: 'x' });
      tell.notices.toolsChanged();
      await until(() => changes > 0, 'what was said after it');
      expect(heard).toEqual([]);
    }
  });
});

describe('messages for one owner', () => {
  it('is heard by no other, in either era', async () => {
    const { client, handler } = await overHttp();
    const heard: string[] = [];
    for (const user of ['ann', 'bob']) {
      const legacy = await client('legacy', { 'x-user': user });
      const modern = await client('modern', { 'x-user': user });
      for (const [era, each] of Object.entries({ legacy, modern })) {
        each.setNotificationHandler(
          'notifications/resources/updated',
          ({ params }) => void heard.push(`${params.uri} ${user} ${era}`),
        );
      }
      const watched = ['all://first', 'one://only', 'all://last'];
      for (const uri of watched) await legacy.subscribeResource({ uri });
      await modern.listen({ resourceSubscriptions: watched });
    }
    const everyoneHeard = (uri: string) =>
      ['ann legacy', 'ann modern', 'bob legacy', 'bob modern'].every(who => heard.includes(`${uri} ${who}`));
    await until(() => {
      handler.notices.resourceUpdated('all://first');
      return everyoneHeard('all://first');
    }, 'all four listen');
    handler.of('ann').notices.resourceUpdated('one://only');
    handler.of('nobody').notices.resourceUpdated('one://only');
    handler.notices.resourceUpdated('all://last');
    await until(() => everyoneHeard('all://last'), 'what was said last');
    expect(heard.filter(line => line.startsWith('one://')).toSorted()).toEqual([
      'one://only ann legacy',
      'one://only ann modern',
    ]);
  });
});
