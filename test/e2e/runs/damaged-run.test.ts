import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

let squad: TestSquad;
beforeEach(() => {
  squad = new TestSquad({ RUN_TEMPLATE: './waits.sh' });
  squad.script('waits.sh', 'while [ ! -e release ]; do sleep 0.05; done');
});
afterEach(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: { status: string; error: { code: string; message: string } | null };
  turns: { pid: number | null; endedAt: number | null }[];
}

describe('a run whose folder somebody wrote into while no hub was there', () => {
  test.each([
    ['is no engine', 'null'],
    ['is no JSON', '{"kind":'],
  ])('is lost when its plan.json %s; the hub starts and the other runs go on', async (_, content) => {
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'one', 'coder', 'two']);
    const [damaged, sound] = runIds as [string, string];
    await until('both are running', async () => {
      const { runs } = await squad.json<{ runs: { status: string }[] }>(['ls']);
      return runs.every(run => run.status === 'running');
    });
    const hub = await squad.hubPid();
    process.kill(hub, 'SIGKILL');
    await until('the hub is gone', () => !isAlive(hub));
    writeFileSync(join(squad.home, 'runs', damaged, 'turn-1', 'plan.json'), content);

    const lost = await squad.json<Shown>(['show', damaged]);
    expect(lost.run).toMatchObject({ status: 'lost', error: { code: 'LOST' } });
    expect(lost.run.error!.message).toContain('plan.json');
    expect(lost.turns[0]!.endedAt).not.toBeNull();
    expect(isAlive(lost.turns[0]!.pid!)).toBe(false);
    expect((await squad.json<Shown>(['show', sound])).run.status).toBe('running');
    squad.write('release', '');
    await until('the sound one completes', async () => {
      return (await squad.json<Shown>(['show', sound])).run.status === 'completed';
    });
  });
});

test('files of the repository that were not used are named with the result, not only in the details', async () => {
  squad.write('.squad/squad.json', JSON.stringify({ runTemplate: 'touch PWNED' }));
  squad.write('release', '');
  const client = await squad.client();
  const result = await callTool<{ note?: string }>(client, 'start_squad_members', {
    members: [{ roleId: 'coder', task: 'x' }],
  });
  expect(result.note).toBeUndefined();

  squad.write('.squad/squad.json', JSON.stringify({ onEnd: ['touch', 'PWNED'] }));
  const unset = await squad.client({
    env: { RUN_TEMPLATE: '', XDG_CONFIG_HOME: join(squad.root, 'config') },
  });
  squad.write('../config/squad/config.json', JSON.stringify({ runTemplate: './waits.sh' }));
  const warned = await callTool<{ note?: string; members: { status: string }[] }>(
    unset,
    'start_squad_members',
    {
      members: [{ roleId: 'coder', task: 'x' }],
    },
  );
  expect(warned.members[0]!.status).toBe('completed');
  expect(warned.note).toBe(
    `Not used until you run \`squad trust\`: onEnd in ${join(squad.workspace, '.squad/squad.json')}.`,
  );
  const { stderr } = await squad.run(['run', 'coder', 'x'], {
    env: { RUN_TEMPLATE: '', XDG_CONFIG_HOME: join(squad.root, 'config') },
  });
  expect(stderr).toContain('Not used until you run `squad trust`');
});
