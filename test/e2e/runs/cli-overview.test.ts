import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../../support/git-squad.ts';
import { TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

const start = async (...lines: string[]) => {
  const { runIds } = await squad.json<{ runIds: [string] }>([
    'run',
    '-d',
    'planner',
    `Do it.${script(...lines)}`,
  ]);
  return runIds[0];
};

describe('squad alone', () => {
  test('in a new home says how to begin, and starts nothing', async () => {
    await using fresh = new TestSquad();
    fresh.sharesCompiled = false;
    const { code, stdout, stderr } = await fresh.run([]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Nothing has run yet');
    expect(stdout).toMatch(/^ {2}squad doctor {2,}/m);
    expect(stdout).toMatch(/^ {2}squad run "Fix the failing test" {2,}/m);
    expect(existsSync(fresh.home)).toBe(false);
  });

  test('shows what runs, what needs the user and what failed, with the next commands', async () => {
    const failed = await start('fail No luck.');
    await squad.run(['wait', failed]);
    const asking = await start(`call ask_user ${JSON.stringify({ question: 'Which port?' })}`);
    const working = await start('hang');
    interface Board {
      hub: boolean;
      counts: Record<string, number>;
      runs: { id: string; need: string; asking: { id: string } | null }[];
    }
    const board = await until('all is so', async () => {
      const now = await squad.json<Board>(['status']);
      return now.counts.needs_you === 1 && now.counts.running === 1 ? now : undefined;
    });
    expect(board).toMatchObject({ hub: true, counts: { needs_you: 1, failed: 1, running: 1, queued: 0 } });
    expect(board.runs.map(({ id, need }) => [id, need])).toEqual([
      [asking, 'needs_you'],
      [failed, 'failed'],
      [working, 'running'],
    ]);
    const { code, stdout } = await squad.run([]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1 needs you · 1 failed · 1 running$/m);
    expect(stdout).toMatch(new RegExp(`^${asking} +needs you +planner +work .*Which port\\?`, 'm'));
    expect(stdout).toContain(`squad answer ${board.runs[0]!.asking!.id}`);
    expect(stdout).toContain(`squad show ${failed}`);
    expect(stdout).toContain('squad watch --all');
    expect((await squad.run(['status'])).stdout.split('\n')[0]).toBe(stdout.split('\n')[0]);
    await squad.run(['stop', asking, working]);
  });

  test('with runs and no hub starts none', async () => {
    await squad.run(['hub', 'stop']);
    const { stdout } = await squad.run([]);
    expect(stdout).toContain('The hub is not running');
    expect(stdout).toMatch(/^ {2}squad ls /m);
    expect((await squad.run(['hub', 'status'])).code).toBe(1);
  });
});

test('other words for commands: ps, list, logs, stop', async () => {
  const id = await start('say hi', 'await stop');
  await until('it is running', async () => (await squad.statusOf(id)) === 'running');
  for (const word of ['ps', 'list']) expect((await squad.run([word])).stdout).toContain(id);
  expect((await squad.run(['stop', id])).code).toBe(0);
  expect((await squad.run(['logs', id])).stdout).toContain('hi');
});

describe('a mistake is an error, not an empty answer', () => {
  test.each([
    [['ls']],
    [['watch']],
    [['search', 'x']],
    [['inbox']],
    [['review']],
    [['events']],
    [['cost', '--here']],
    [['conversation', 'list']],
    [['status']],
  ])('a workspace that does not exist: %j', async args => {
    expect(await squad.run([...args, '--workspace', 'gone'])).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringMatching(/work\/gone \(from --workspace\) does not exist\. \(WORKSPACE_REFUSED\)/),
    });
  });

  test('a workspace that is a file', async () => {
    squad.write('a.txt', '');
    expect((await squad.run(['ls', '--workspace', 'a.txt'])).stderr).toContain('is not a folder');
  });

  test.each([[['worktrees']], [['worktrees', 'prune']], [['overlap']], [['integrate']]])(
    'no git repository where one is needed: %j',
    async args => {
      expect(await squad.run(args)).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining('is not in a git repository'),
      });
    },
  );
});
