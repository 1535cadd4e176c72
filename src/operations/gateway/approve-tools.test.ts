import { describe, expect, it } from 'vitest';
import type { GatewayAdmin, PendingChange } from '../../core/ports/gateway.ts';
import type { Call, UserServices } from '../operation.ts';
import { approveTools } from './approve-tools.ts';

describe('approval', () => {
  const waiting = (server: string, tool: string, hash = `${server}/${tool}`): PendingChange => ({
    ...{ server, tool, hash, kind: 'new', seenAt: 1, diff: ['+x'] },
  });
  const approve = async (pending: PendingChange[], input: Parameters<typeof approveTools.run>[1]) => {
    let left = pending;
    const gateway: Pick<GatewayAdmin, 'pending' | 'approve' | 'knownTools'> = {
      knownTools: async () => ({ a: ['one', 'two'] }),
      pending: async () => left,
      approve: async (_, { server, tool, hashes }) => {
        const isMeant = (change: PendingChange) =>
          (server ?? change.server) === change.server &&
          (tool ?? change.tool) === change.tool &&
          (hashes?.includes(change.hash) ?? true);
        left = pending.filter(change => !isMeant(change));
        return pending.filter(isMeant);
      },
    };
    const workspaces = { open: async () => ({ root: '/w', roles: async () => [] }) };
    const mcpConfigs = { of: async () => ({ config: { servers: { a: {}, b: {} } } }) };
    const call = {
      services: { gateway, workspaces, mcpConfigs },
      caller: {},
    } as unknown as Call<UserServices>;
    const { approved, unseen } = await approveTools.run(call, input);
    return { approved: approved.map(({ hash }) => hash), unseen: unseen.map(({ hash }) => hash) };
  };
  const all = [waiting('a', 'one'), waiting('a', 'two'), waiting('b', 'one')];

  it('is of one tool, of one server, or of all that waits', async () => {
    expect((await approve(all, {})).approved).toEqual(['a/one', 'a/two', 'b/one']);
    expect((await approve(all, { server: 'a' })).approved).toEqual(['a/one', 'a/two']);
    expect((await approve(all, { server: 'a', tool: 'two' })).approved).toEqual(['a/two']);
  });

  it('is of nothing that is not there, and says what may have been meant', async () => {
    await expect(approve(all, { server: 'aa' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      suggestions: [expect.stringContaining('"a"')],
    });
    await expect(approve(all, { server: 'a', tool: 'onee' })).rejects.toMatchObject({
      message: 'There is no tool "onee" in a',
      suggestions: ['Did you mean "one"?'],
    });
    expect((await approve([], { server: 'b', tool: 'never seen' })).approved).toEqual([]);
  });

  it('is never of a definition that was not shown, and says which of those asked for still wait', async () => {
    const changed = [waiting('a', 'one', 'another'), waiting('a', 'two'), waiting('b', 'one')];
    expect(await approve(changed, { server: 'a', hashes: ['a/one', 'a/two'] })).toEqual({
      approved: ['a/two'],
      unseen: ['another'],
    });
  });
});
