import type { Client, ClientCapabilities } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { httpRig } from '../testing/http-rig.ts';
import { socketRig } from '../testing/socket-client.ts';
import { until } from '../testing/until.ts';
import { type ClientOfCall, clientOf } from './client-of.ts';
import type { Era, Face } from './face.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Ask = (client: ClientOfCall | null, signal: AbortSignal) => Promise<unknown>;

/** One tool, whose result is what came of asking the client behind the call. */
function askingFace(ask: Ask): Face {
  return {
    info: { name: 'asks', version: '1' },
    logging: true,
    tools: {
      list: async () => [],
      call: async (_name, _args, call) => {
        const asked = ask(clientOf(call), call.signal).catch((error: { code?: unknown }) => ({
          failed: error.code ?? String(error),
        }));
        return { structured: { came: await asked } };
      },
    },
  };
}

async function connect(edge: string, era: Era, ask: Ask, capabilities: ClientCapabilities): Promise<Client> {
  const build = () => askingFace(ask);
  if (edge === 'HTTP') {
    const rig = await httpRig({ build });
    closing.push(() => rig.close());
    return rig.client(era, {}, capabilities);
  }
  const rig = await socketRig({ build });
  closing.push(() => rig.close());
  return rig.client(era, capabilities);
}

async function came(client: Client): Promise<unknown> {
  const { structuredContent } = await client.callTool({ name: 'ask' });
  return (structuredContent as { came: unknown }).came;
}

describe.each(['HTTP', 'a socket'])('the client behind a call over %s', edge => {
  it('answers questions for a model, for its user and for its folders', async () => {
    const answers: Ask = async (client, signal) => ({
      capabilities: Object.keys(client!.capabilities),
      model: await client!.ask('sampling/createMessage', { messages: [], maxTokens: 5 }, signal),
      user: await client!.ask(
        'elicitation/create',
        { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
        signal,
      ),
      folders: await client!.ask('roots/list', {}, signal),
    });
    const client = await connect(edge, 'legacy', answers, { sampling: {}, elicitation: {}, roots: {} });
    client.setRequestHandler('sampling/createMessage', async ({ params }) => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: `at most ${params.maxTokens}` },
    }));
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: 'accept',
      content: { asked: params.message },
    }));
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///a' }] }));
    expect(await came(client)).toMatchObject({
      capabilities: ['sampling', 'elicitation', 'roots'],
      model: { content: { text: 'at most 5' } },
      user: { action: 'accept', content: { asked: 'Sure?' } },
      folders: { roots: [{ uri: 'file:///a' }] },
    });
  });

  it('is not asked what it never said it could answer, or what is no question', async () => {
    for (const method of ['sampling/createMessage', 'roots/list', 'ping', 'constructor']) {
      const client = await connect(edge, 'legacy', (it, signal) => it!.ask(method, {}, signal), {
        elicitation: {},
      });
      let asked = 0;
      client.fallbackRequestHandler = async () => {
        asked += 1;
        return {};
      };
      expect(await came(client)).toEqual({ failed: -32601 });
      expect(asked).toBe(0);
    }
  });

  it('passes its refusal on as it is', async () => {
    const ask: Ask = (it, signal) => it!.ask('roots/list', {}, signal);
    const client = await connect(edge, 'legacy', ask, { roots: {} });
    client.setRequestHandler('roots/list', async () => {
      throw Object.assign(new Error('not today'), { code: -32055 });
    });
    expect(await came(client)).toEqual({ failed: -32055 });
  });

  it('is notified when the question is withdrawn', async () => {
    const stop = new AbortController();
    let isAsked = false;
    let isTakenBack = false;
    const client = await connect(edge, 'legacy', it => it!.ask('roots/list', {}, stop.signal), { roots: {} });
    client.setRequestHandler('roots/list', (_request, ctx) => {
      isAsked = true;
      return new Promise((_resolve, reject) => {
        ctx.mcpReq.signal.addEventListener('abort', () => {
          isTakenBack = true;
          reject(new Error('taken back'));
        });
      });
    });
    const coming = came(client);
    await until(() => isAsked, 'the question');
    stop.abort(new Error('never mind'));
    expect(await coming).toMatchObject({ failed: expect.anything() });
    await until(() => isTakenBack, 'the cancellation');
  });

  it('hears log messages from the level it chose upwards, and no other notices', async () => {
    const client = await connect(
      edge,
      'legacy',
      async it => {
        it!.tell('notifications/message', { level: 'debug', data: 'too quiet' });
        it!.tell('notifications/tools/list_changed', {});
        it!.tell('notifications/message', { level: 'error', logger: 'far', data: { a: 1 } });
      },
      {},
    );
    const heard: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params));
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('changed'));
    await client.setLoggingLevel('warning');
    await client.callTool({ name: 'ask' });
    await until(() => heard.length > 0, 'the message');
    expect(heard).toEqual([{ level: 'error', logger: 'far', data: { a: 1 } }]);
  });

  it('is nobody in the modern era, where questions are part of the answer', async () => {
    const client = await connect(edge, 'modern', async it => it === null, { roots: {} });
    expect(await came(client)).toBe(true);
  });
});
