import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, messageIn, post, requestOf, startAgents } from '../../attacks/agents.ts';
import { configure } from '../../attacks/config-file.ts';
import { Recorded } from '../../attacks/recorded.ts';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const recorded = new Recorded(squad.root, 'kept', {
  tools: [{ name: 'take', description: 'Takes it.', inputSchema: { type: 'object' } }],
});
let agent: Agent;

beforeAll(async () => {
  await configure(squad, { servers: { kept: recorded.block() }, shared: ['kept'] });
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  await agent.sees('kept__take');
});
afterAll(() => squad[Symbol.asyncDispose]());

/** Request that reaches the server for one call. A key reserved for the protocol makes the SDK handle the call. */
async function received(params: object, way: 'past the SDK' | 'by the SDK'): Promise<unknown> {
  const { headers, body } = requestOf('tools/call', { name: 'kept__take' });
  const request = JSON.parse(body) as { params: { _meta: object } };
  const { _meta = {}, ...rest } = params as { _meta?: object };
  const odd = way === 'by the SDK' ? { 'io.modelcontextprotocol/odd': 1 } : {};
  Object.assign(request.params, rest, { _meta: { ...request.params._meta, ..._meta, ...odd } });
  const before = recorded.asked().length;
  const answer = await post(agent.url, { headers, body: JSON.stringify(request) }, agent.token);
  expect(messageIn(answer.body).result, answer.body).toBeDefined();
  const asked = recorded.asked().slice(before);
  expect(asked).toHaveLength(1);
  const { _meta: meta, ...others } = asked[0]!.params as { _meta?: Record<string, unknown> };
  const { progressToken, ...kept } = meta ?? {};
  return { ...others, ...(Object.keys(kept).length > 0 && { _meta: kept }) };
}

test.each([
  ['no arguments', {}, { arguments: {} }],
  ['none in them', { arguments: {} }, { arguments: {} }],
  ['some', { arguments: { a: [1, null, 'ü'] } }, { arguments: { a: [1, null, 'ü'] } }],
  [
    'a name that means something',
    JSON.parse('{"arguments":{"__proto__":{"x":1},"a":1}}'),
    { arguments: { a: 1 } },
  ],
  ['meta, which stays here', { arguments: {}, _meta: { 'example/trace': { a: 1 } } }, { arguments: {} }],
])('a server receives the same whichever way a call takes: %s', async (_what, params, expected) => {
  const frame = { name: 'take', ...expected };
  expect(JSON.stringify(await received(params, 'past the SDK'))).toBe(JSON.stringify(frame));
  expect(JSON.stringify(await received(params, 'by the SDK'))).toBe(JSON.stringify(frame));
});
