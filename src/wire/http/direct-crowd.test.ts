import { afterEach, expect, it } from 'vitest';
import type { Era } from '../face/face.ts';
import { httpHeaders, message, messagesOf } from '../testing/edges.ts';
import { type FarFace, farFace } from '../testing/far-face.ts';
import { httpRig } from '../testing/http-rig.ts';
import { socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const ROUNDS = 25;

/** The same numbers in every run: whatever goes wrong can be seen again. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return sides => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

interface Client {
  name: string;
  /** Texts that one call returned; empty if it was cancelled. */
  call(key: string, id: number): Promise<string[]>;
  cancel(id: number): void;
}

/** Every client uses the ids 0 to 3 again and again, as every other one does. */
async function useAll(client: Client, far: FarFace, roll: (sides: number) => number): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const calls = [0, 1, 2, 3].map(id => {
      const key = `${client.name}/${round}/${id}`;
      return { id, key, isCancelled: roll(10) < 3, said: client.call(key, id) };
    });
    const isHeld = (key: string) => far.held.some(({ params }) => keyOf(params) === key);
    await until(() => calls.every(({ key }) => isHeld(key)), `round ${round} of ${client.name}`);
    for (const call of calls.toSorted(() => roll(3) - 1)) {
      if (call.isCancelled) client.cancel(call.id);
      else {
        const { call: held, release } = far.held.find(({ params }) => keyOf(params) === call.key)!;
        held.progress?.({ progress: 1, message: call.key });
        release();
      }
    }
    for (const { id, key, isCancelled, said } of calls) {
      const texts = (await said).map(text => JSON.parse(text));
      if (isCancelled) {
        expect(texts).toEqual([]);
        await until(() => far.aborted.includes(key), `${key} is aborted`);
      } else {
        expect(texts).toMatchObject([
          { method: 'notifications/progress', params: { progressToken: `t${id}`, message: key } },
          { id, result: { content: [{ text: `held ${key}` }] } },
        ]);
      }
    }
    await until(() => calls.every(call => !call.isCancelled || far.aborted.includes(call.key)), 'the aborts');
  }
}

const keyOf = (params: Record<string, unknown>) => (params.arguments as { key: string }).key;
const params = (key: string, id: number) => ({
  name: 'far__hold',
  arguments: { key },
  _meta: { progressToken: `t${id}` },
});
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };

async function httpClients(far: FarFace, eras: Era[]): Promise<Client[]> {
  const rig = await httpRig({ build: () => far.face });
  closing.push(() => rig.close());
  return Promise.all(eras.map((era, index) => overHttp(rig, era, `http${index}`)));
}

async function overHttp(rig: Awaited<ReturnType<typeof httpRig>>, era: Era, name: string): Promise<Client> {
  const session: Record<string, string> = {};
  if (era === 'legacy') {
    const opened = await rig.post(JSON.stringify(message(era, 'initialize', HELLO, 0)));
    await opened.text();
    session['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? '';
  }
  const leaving = new Map<number, AbortController>();
  return {
    name,
    async call(key, id) {
      const asked = params(key, id);
      const left = new AbortController();
      leaving.set(id, left);
      try {
        const response = await fetch(rig.url, {
          method: 'POST',
          body: JSON.stringify(message(era, 'tools/call', asked, id)),
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...session,
            ...httpHeaders(era, 'tools/call', asked),
          },
          signal: left.signal,
        });
        return await messagesOf(response);
      } catch (error) {
        if (left.signal.aborted) return [];
        throw error;
      }
    },
    cancel(id) {
      if (era === 'modern') return leaving.get(id)!.abort();
      const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
      void rig.post(JSON.stringify(notice), session).then(response => response.text());
    },
  };
}

async function streamClients(far: FarFace, eras: Era[]): Promise<Client[]> {
  const rig = await socketRig({ build: () => far.face });
  closing.push(() => rig.close());
  const clients: Client[] = [];
  for (const [index, era] of eras.entries()) clients.push(await overStream(rig, era, `stream${index}`));
  return clients;
}

async function overStream(
  rig: Awaited<ReturnType<typeof socketRig>>,
  era: Era,
  name: string,
): Promise<Client> {
  const { socket, texts } = await rig.raw();
  const send = (said: object) => socket.write(`${JSON.stringify(said)}\n`);
  send(
    message(era, era === 'legacy' ? 'initialize' : 'server/discover', era === 'legacy' ? HELLO : {}, 'hi'),
  );
  await until(() => texts.length === 1, 'the handshake');
  const cancelled = new Set<string>();
  const current = new Map<number, string>();
  return {
    name,
    async call(key, id) {
      current.set(id, key);
      send(message(era, 'tools/call', params(key, id), id));
      const mine = () => texts.filter(text => text.includes(`${key}"`));
      await until(() => cancelled.has(key) || mine().some(text => 'result' in JSON.parse(text)), key);
      return mine();
    },
    cancel(id) {
      cancelled.add(current.get(id)!);
      const { id: _none, ...notice } = message(era, 'notifications/cancelled', { requestId: id });
      send(notice);
    },
  };
}

it('loses and mixes up nothing among many clients with the same ids, some of which change their minds', async () => {
  const far = farFace({ direct: true });
  const eras: Era[] = ['legacy', 'modern', 'legacy', 'modern'];
  const clients = [...(await httpClients(far, eras)), ...(await streamClients(far, eras))];
  await Promise.all(clients.map((client, index) => useAll(client, far, dice(index + 1))));
  expect(far.past).toHaveLength(clients.length * ROUNDS * 4);
  expect(new Set(far.aborted).size).toBe(far.aborted.length);
  expect(far.aborted.length).toBeGreaterThan(clients.length * ROUNDS);
});
