import { describe, expect, it } from 'vitest';
import type { GatewayAdmin, PendingChange } from '../core/ports/gateway.ts';
import { approveTools } from './approve-tools.ts';
import type { Call } from './operation.ts';

describe('approval', () => {
  const waiting = (server: string, tool: string, hash = `${server}/${tool}`): PendingChange => ({
    ...{ server, tool, hash, kind: 'new', seenAt: 1, diff: ['+x'] },
  });
  const approve = async (pending: PendingChange[], input: Parameters<typeof approveTools.run>[1]) => {
    const asked: string[] = [];
    const gateway: Pick<GatewayAdmin, 'pending' | 'approve'> = {
      pending: async () => pending,
      approve: async (_, what) => {
        asked.push(`${what.server}/${what.tool}`);
        return pending.filter(({ server, tool }) => server === what.server && tool === what.tool);
      },
    };
    const workspaces = { open: async () => ({ root: '/w' }) };
    const call = { services: { gateway, workspaces }, caller: {} } as unknown as Call;
    const { approved, unseen } = await approveTools.run(call, input);
    return { asked, approved: approved.map(({ hash }) => hash), unseen: unseen.map(({ hash }) => hash) };
  };
  const all = [waiting('a', 'one'), waiting('a', 'two'), waiting('b', 'one')];

  it('is of one tool, of one server, or of all that waits', async () => {
    expect((await approve(all, {})).asked).toEqual(['a/one', 'a/two', 'b/one']);
    expect((await approve(all, { server: 'a' })).asked).toEqual(['a/one', 'a/two']);
    expect((await approve(all, { server: 'a', tool: 'two' })).approved).toEqual(['a/two']);
    expect((await approve(all, { server: 'c' })).asked).toEqual([]);
  });

  it('is never of a definition that was not shown', async () => {
    const changed = [waiting('a', 'one', 'another'), waiting('a', 'two')];
    expect(await approve(changed, { hashes: ['a/one', 'a/two'] })).toEqual({
      asked: ['a/two'],
      approved: ['a/two'],
      unseen: ['another'],
    });
  });
});
