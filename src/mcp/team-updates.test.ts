import { describe, expect, it } from 'vitest';
import { newRunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import type { Audience } from '../wire/face/face.ts';
import { TeamUpdates } from './notices.ts';

type OnChange = (changed: ReadonlySet<string> | null) => void;

function rig() {
  const watched = new Map<string, OnChange>();
  const run = { id: newRunId(), workspace: '/a', roleId: 'coder' } as Run;
  const updates = new TeamUpdates({
    watch(root, onChange) {
      if (watched.has(root)) throw new Error(`${root} is watched twice`);
      watched.set(root, onChange);
      return () => watched.delete(root);
    },
    run: async () => run,
    ended: async () => run,
  });
  const listener = () => {
    const heard: string[] = [];
    const notices = { resourceUpdated: (uri: string) => void heard.push(uri) };
    return { heard, audience: { notices } as unknown as Audience };
  };
  const ended = () =>
    updates.take([{ seq: 1, at: 1, runId: run.id, squadId: null, body: { type: 'run.ended' } } as never]);
  return { watched, updates, listener, ended };
}

describe('updates of what a team knows', () => {
  it('are watched for while somebody is there, and not a moment longer', () => {
    const { watched, updates, listener } = rig();
    const [one, two] = [listener(), listener()];
    const leave = [updates.join('/a', 1, one.audience), updates.join('/a', 2, two.audience)];
    updates.join('/b', 3, one.audience)();
    expect([...watched.keys()]).toEqual(['/a']);
    leave[0]!();
    leave[0]!();
    expect(watched.size).toBe(1);
    leave[1]!();
    expect(watched.size).toBe(0);
  });

  it('tell of what changed, once to each, however often they came in', () => {
    const { watched, updates, listener } = rig();
    const { heard, audience } = listener();
    const first = updates.join('/a', 'same', audience);
    updates.join('/a', 'same', audience);
    watched.get('/a')!(new Set(['decisions/inbox/x.md', 'IAC.md', 'agents/ann/history.md']));
    expect(heard).toEqual([
      'squad://decisions',
      'squad://decisions/latest',
      'squad://agents',
      'squad://agents/ann/history',
    ]);
    first();
    heard.length = 0;
    watched.get('/a')!(new Set(['backlog.md']));
    expect(heard).toEqual(['squad://backlog']);
  });

  it('tell of a run those in its workspace, and of the figures everybody', async () => {
    const { updates, listener, ended } = rig();
    const [here, elsewhere] = [listener(), listener()];
    updates.join('/a', 1, here.audience);
    updates.join('/b', 2, elsewhere.audience);
    ended();
    await new Promise(setImmediate);
    expect(here.heard).toEqual(['squad://agents', 'squad://agents/coder/status', 'squad://metrics']);
    expect(elsewhere.heard).toEqual(['squad://metrics']);
  });
});
