import { expect, test } from 'vitest';
import { firstText, GatewayFixture, local, plainRequest } from '../testing/gateway-fixture.ts';
import { connectTo, MemoryServer } from '../testing/memory-server.ts';
import { settled } from '../testing/virtual-time.ts';

function setUp() {
  const files = new MemoryServer();
  files.resources = [{ uri: 'file:///a', name: 'a' }];
  files.prompts = [{ name: 'greet' }];
  const fixture = new GatewayFixture({
    connect: connectTo({ files }),
    config: { servers: { files: local({ resources: ['*'], prompts: ['*'] }) }, shared: ['files'] },
  });
  return { files, fixture };
}

const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);

test('a tool that is asked for while what a server listed first is being kept is waited for, not unknown', async () => {
  const { fixture } = setUp();
  await using _ = fixture;
  const kept = Promise.withResolvers<void>();
  fixture.pinGate = kept.promise;
  const view = fixture.view(fixture.run());
  await settled();
  const call = view.call('files__echo', { arguments: { a: 1 } }, plainRequest());
  const list = view.tools();
  await settled();
  expect(await fixture.gateway.status(null)).toMatchObject([{ health: 'starting' }]);
  kept.resolve();
  expect(firstText(await call)).toBe('{"a":1}');
  expect(names(await list)).toEqual(['files__echo']);
  expect(fixture.denied).toEqual([]);
});

test('a list that a server sent and that cannot be stored makes the server unavailable, not unknown', async () => {
  const { fixture } = setUp();
  await using _ = fixture;
  const kept = Promise.withResolvers<void>();
  fixture.pinGate = kept.promise;
  const view = fixture.view(fixture.run());
  await settled();
  const calls = [view.call('files__echo', {}, plainRequest())];
  kept.reject(new Error('the disk is full'));
  await settled();
  calls.push(view.call('files__echo', {}, plainRequest()));
  for (const call of calls) expect(firstText(await call)).toContain('the disk is full');
  expect(fixture.denied).toEqual([]);
});

test.each(['prompts/list', 'resources/list'])(
  'prompts and resources are waited for when the tools are known and %s is not answered',
  async method => {
    const { files, fixture } = setUp();
    await using _ = fixture;
    const answered = Promise.withResolvers<void>();
    files.held.set(method, answered.promise);
    const view = fixture.view(fixture.run());
    await settled();
    const prompt = view.getPrompt('files__greet', {}, plainRequest());
    const lists = Promise.all([view.prompts(), view.resources()]);
    await settled();
    answered.resolve();
    expect(await prompt).not.toBeNull();
    expect((await lists).map(names)).toEqual([['files__greet'], ['a']]);
    expect(fixture.denied).toEqual([]);
  },
);
