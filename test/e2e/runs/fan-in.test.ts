import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GatewayHome } from '../../faults/gateway/gateway-home.ts';

const AGENTS = 20;
const SERVERS = ['one', 'two', 'three', 'four'];

test(`${AGENTS} agents that use ${SERVERS.length} servers share ${SERVERS.length} processes`, {
  tags: ['B6'],
}, async () => {
  await using home = await GatewayHome.create(join(import.meta.dirname, '..', '..', '..'));
  const servers = Object.fromEntries(SERVERS.map(id => [id, home.nonceServer(id)]));
  await home.configure({ servers, shared: SERVERS });
  const agents = await home.agents(AGENTS);
  const answers = await Promise.all(
    agents.flatMap(({ runId, edge }) =>
      SERVERS.map(async id => {
        const nonce = `${runId} ${id}`;
        const answer = await edge.call({ name: `${id}__say`, args: { nonce } });
        // As text: an object in a list is printed without what it says.
        return answer.kind === 'said' && answer.text === nonce ? 'right' : `${id}: ${JSON.stringify(answer)}`;
      }),
    ),
  );
  expect(answers.filter(answer => answer !== 'right')).toEqual([]);
  expect(home.upstreams()).toHaveLength(SERVERS.length);
  expect(home.said('starts')).toHaveLength(SERVERS.length);
  expect(await home.end()).toEqual([]);
});
