import { expect, test } from 'vitest';
import type { ForwardedClient } from '../../core/ports/gateway.ts';
import type { Json } from '../../wire/upstream/link.ts';
import { GatewayFixture, local, plainRequest } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';

const form = (message: string) => ({ method: 'elicitation/create', params: { message } });

/** A server that asks by its answer, and a person who says the message back. */
async function setUp(instance: 'shared' | 'per-agent' = 'per-agent') {
  const files = new MemoryServer();
  const asked: Json[] = [];
  const fixture = new GatewayFixture({
    connect: connectTo({ files }),
    config: { servers: { files: local({ instance }) }, shared: ['files'] },
    onQuestion: async (_run, server, params) => {
      asked.push({ server, ...params });
      return { action: 'accept', content: { said: params.message } };
    },
  });
  const view = fixture.view(fixture.run());
  await view.tools();
  return { files, asked, call: (more: object) => view.call('files__echo', {}, plainRequest(more)) };
}

test('a person answers, round by round, what a server asks by its answer, where the agent’s client cannot', async () => {
  const { files, asked, call } = await setUp();
  const told: unknown[] = [];
  files.answer = ({ params, options }) => {
    told.push([params.inputResponses, params.requestState, options.capabilities]);
    if (told.length === 1)
      return {
        resultType: 'input_required',
        inputRequests: { a: form('A?'), b: form('B?') },
        requestState: 'first',
      };
    if (told.length === 2) return { resultType: 'input_required', inputRequests: { c: form('C?') } };
    return { content: [], done: true };
  };
  expect(await call({ capabilities: { roots: {} } })).toEqual({ content: [], done: true });
  expect(asked).toEqual(['A?', 'B?', 'C?'].map(message => ({ server: 'files', message })));
  const says = (said: string) => ({ action: 'accept', content: { said } });
  const capabilities = { roots: {}, elicitation: {} };
  expect(told).toEqual([
    [undefined, undefined, capabilities],
    [{ a: says('A?'), b: says('B?') }, 'first', capabilities],
    [{ c: says('C?') }, undefined, capabilities],
  ]);
});

test('a client that can be asked is handed the question as it came', async () => {
  const { files, asked, call } = await setUp();
  const question = { resultType: 'input_required', inputRequests: { a: form('A?') } };
  files.answer = () => question;
  expect(await call({ capabilities: { elicitation: {} } })).toEqual(question);
  expect(asked).toEqual([]);
});

test('a request with more than forms is passed on unanswered, and a server that never stops asking is left', async () => {
  const { files, asked, call } = await setUp();
  const mixed = {
    resultType: 'input_required',
    inputRequests: { a: form('A?'), b: { method: 'roots/list' } },
  };
  files.answer = () => mixed;
  expect(await call({})).toEqual(mixed);
  expect(asked).toEqual([]);
  const endless = { resultType: 'input_required', inputRequests: { a: form('A?') } };
  files.answer = () => endless;
  expect(await call({})).toEqual(endless);
  expect(asked).toHaveLength(8);
});

test('for a server that several agents share nobody is asked', async () => {
  const { files, asked, call } = await setUp('shared');
  const question = { resultType: 'input_required', inputRequests: { a: form('A?') } };
  files.answer = ({ options }) => ({ ...question, told: options.capabilities ?? null });
  expect(await call({})).toEqual({ ...question, told: null });
  expect(asked).toEqual([]);
});

test('a person is asked only in the middle of a call, and not what a client answers', async () => {
  const { files, asked, call } = await setUp();
  const client: ForwardedClient = {
    capabilities: { elicitation: {} },
    ask: async () => ({ action: 'decline' }),
    tell: () => {},
  };
  const ask = () =>
    [...files.live][0]!.events.onRequest!(
      'elicitation/create',
      { message: 'Now?' },
      new AbortController().signal,
    );
  await expect(ask()).rejects.toThrow('nobody here answers');
  files.answer = async () => ({ content: [], said: await ask() });
  expect(await call({})).toMatchObject({ said: { action: 'accept' } });
  expect(await call({ client })).toMatchObject({ said: { action: 'decline' } });
  expect(asked).toHaveLength(1);
});
