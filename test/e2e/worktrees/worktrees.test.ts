import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Worktree } from '../../../src/schema/worktree.ts';
import { GitSquad, makeRepository, script } from '../../support/git-squad.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';

const squad = new GitSquad({
  coder: '---\nisolation: worktree\n---\nYou code.',
  helper: 'You help.',
  lead: '---\nisolation: worktree\nspawn: true\n---\nYou lead.',
});

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: {
    status: string;
    directory: string;
    worktree: Worktree | null;
    error: { code: string; message: string } | null;
    evidence: { filesChanged: { count: number } | null } | null;
  };
  result: { result: string };
}
const shown = (id: string) => squad.shown<Shown>(id);
const start = async (...args: string[]) =>
  (await squad.json<{ runIds: string[]; warnings?: string[] }>(['run', '-d', ...args])).runIds;
const done = async (id: string) => {
  await squad.run(['wait', id]);
  return shown(id);
};

describe('the shipped coder', () => {
  const newSquad = () => {
    const other = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    makeRepository(other);
    return other;
  };
  const work = `Do it.${script('write made.txt', '| made')}`;

  test('works on a branch of its own in a git repository, and the end of squad run says how to get at it', {
    tags: ['D6'],
  }, async () => {
    await using other = newSquad();
    const { stdout } = await other.run(['run', 'coder', work]);
    const id = /run_\w+/.exec(stdout)![0];
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      `The changes of coder are in the work tree of branch squad/coder/${id}, not on the branch yet.`,
    );
    expect(stdout).toMatch(new RegExp(`squad diff ${id} +what changed`));
    expect(stdout).toMatch(new RegExp(`squad integrate ${id} +merge the changes of coder into main`));
    expect(existsSync(join(other.workspace, 'made.txt'))).toBe(false);
    expect((await other.run(['diff', id])).stdout).toContain('made.txt');
    expect(await other.run(['integrate', id, '--yes'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(other.workspace, 'made.txt'), 'utf8')).toBe('made\n');
  });

  test('tells an MCP client where its work is', async () => {
    await using other = newSquad();
    const client = await other.client();
    const { members } = await callTool<{ members: { memberId: string; note?: string }[] }>(
      client,
      'start_squad_members',
      { members: [{ roleId: 'coder', task: work }] },
    );
    const [member] = members;
    const note = `on branch squad/coder/${member!.memberId}`;
    expect(member!.note).toContain(note);
    expect(member!.note).toContain(`squad integrate ${member!.memberId}`);
    const parallel = await callTool<{ results: { spawn_id: string; note?: string }[] }>(
      client,
      'spawn_parallel',
      { agents: [{ roleId: 'coder', prompt: work }] },
    );
    expect(parallel.results[0]!.note).toContain(`squad integrate ${parallel.results[0]!.spawn_id}`);
    const idle = await callTool<{ members: { note?: string }[] }>(client, 'start_squad_members', {
      members: [{ roleId: 'coder', task: `Only look.${script('say nothing to do')}` }],
    });
    expect(idle.members[0]!.note ?? '').not.toContain('squad integrate');
  });

  test.each([
    ['outside of a repository', (root: string) => rmSync(join(root, '.git'), { recursive: true })],
    [
      'in a repository without a commit',
      (root: string) => {
        rmSync(join(root, '.git'), { recursive: true });
        execFileSync('git', ['init', '-q', root]);
      },
    ],
  ])('works in place %s', async (_, prepare) => {
    await using other = newSquad();
    prepare(other.workspace);
    expect(await other.run(['run', 'coder', work])).toMatchObject({ code: 0 });
    expect(existsSync(join(other.workspace, 'made.txt'))).toBe(true);
  });

  test('works in place where the call says so', async () => {
    await using other = newSquad();
    const { stdout } = await other.run(['run', '--no-worktree', 'coder', work]);
    expect(stdout).not.toContain('squad integrate');
    expect(existsSync(join(other.workspace, 'made.txt'))).toBe(true);
  });
});

describe('a run with a work tree of its own', () => {
  test('works on a branch of its own, and the checkout of the user stays as it is', {
    tags: ['D6'],
  }, async () => {
    const [id] = await start(
      'coder',
      `Do it.${script('write feature.txt', '| mine', 'run git branch --show-current')}`,
    );
    const { run, result } = await done(id!);
    expect(run).toMatchObject({
      status: 'completed',
      worktree: { branch: `squad/coder/${id}`, baseBranch: 'main' },
    });
    expect(result.result).toContain(`squad/coder/${id}`);
    expect(readFileSync(join(run.worktree!.path, 'feature.txt'), 'utf8')).toBe('mine\n');
    expect(run.evidence?.filesChanged?.count).toBe(1);
    expect(existsSync(join(squad.workspace, 'feature.txt'))).toBe(false);
    expect(squad.git('status', '--porcelain')).toBe('');
  });

  test('may be asked for at the call, whatever the role says', async () => {
    const [id] = await start('--worktree', 'helper', `Help.${script('say hello')}`);
    expect((await done(id!)).run.worktree?.branch).toBe(`squad/helper/${id}`);
  });

  test('starts where HEAD was, not where it has moved since', async () => {
    const base = squad.git('rev-parse', 'HEAD');
    const [id] = await start('coder', `Look.${script('run git rev-parse HEAD')}`);
    const { run, result } = await done(id!);
    expect(run.worktree?.base).toBe(base);
    expect(result.result).toContain(base);
  });

  test('a run that it starts works in there too, or in a fork of it', async () => {
    const call = (more: Record<string, unknown>) =>
      `call spawn_agent ${JSON.stringify({ include_context: false, roleId: 'helper', ...more })}`;
    const [id] = await start(
      'lead',
      `Lead.${script(
        'write plan.txt',
        '| the plan',
        'run git add -A && git -c user.name=L -c user.email=l@example.com commit -qm plan',
        call({ prompt: script('run cat plan.txt', 'run pwd').replaceAll('\n', '\n') }),
        call({ isolation: 'worktree', prompt: script('run cat plan.txt', 'write own.txt', '| own') }),
      )}`,
    );
    const lead = await done(id!);
    const tree = lead.run.worktree!;
    const [shared, forked] = [...lead.result.result.matchAll(/"spawn_id":"(run_\w+)"/g)].map(
      ([, run]) => run!,
    );
    expect((await shown(shared!)).run).toMatchObject({ status: 'completed', directory: tree.path });
    const fork = (await shown(forked!)).run.worktree!;
    expect(fork).toMatchObject({ baseBranch: tree.branch, repository: tree.repository });
    expect(existsSync(join(fork.path, 'own.txt'))).toBe(true);
    expect(existsSync(join(tree.path, 'own.txt'))).toBe(false);
  });

  test('a reply goes on in the same one', async () => {
    const [id] = await start('coder', `Do it.${script('write first.txt', '| 1')}`);
    const before = (await done(id!)).run;
    const { runIds } = await squad.json<{ runIds: string[] }>([
      'reply',
      '-d',
      id!,
      `And this.${script('run cat first.txt', 'write second.txt', '| 2')}`,
    ]);
    const after = (await done(runIds[0]!)).run;
    expect(after).toMatchObject({
      status: 'completed',
      directory: before.directory,
      worktree: before.worktree,
    });
  });

  test('warns that uncommitted changes are not in it', async () => {
    squad.write('README.md', '# Changed\n');
    const ran = await squad.run(['run', '-d', 'coder', `Look.${script('run cat README.md')}`]);
    expect(ran.stderr.replaceAll(/\s+/g, ' ')).toMatch(/1 .*not.*(work tree|worktree)/i);
    expect((await done(ran.stdout.trim())).result.result).toContain('# Project');
    squad.git('checkout', '-q', '--', 'README.md');
  });

  test('a folder that is no repository is refused before anything starts', async () => {
    const bare = join(squad.root, 'plain');
    squad.write('../plain/file', '');
    const ran = await squad.run(['run', '-d', 'coder', 'x'], { cwd: bare });
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.stderr).toMatch(/git repository/);
  });

  test('a work tree whose folder was removed by hand is made again from its branch', async () => {
    const [id] = await start(
      'coder',
      `Do it.${script('write kept.txt', '| kept', 'run git add -A && git -c user.name=C -c user.email=c@example.com commit -qm kept')}`,
    );
    const { worktree } = (await done(id!)).run;
    rmSync(worktree!.path, { recursive: true });
    const { runIds } = await squad.json<{ runIds: string[] }>([
      'reply',
      '-d',
      id!,
      `Look.${script('run cat kept.txt')}`,
    ]);
    expect((await done(runIds[0]!)).run.status).toBe('completed');
  });
});

describe('several at once', () => {
  test('each has its own, none fails', async () => {
    const pairs = Array.from({ length: 12 }, (_, i) => [
      'coder',
      `Go.${script('write who.txt', `| ${i}`)}`,
    ]).flat();
    const ids = await start(...pairs);
    const runs = await Promise.all(ids.map(done));
    expect(runs.map(({ run }) => run.status)).toEqual(ids.map(() => 'completed'));
    expect(new Set(runs.map(({ run }) => run.worktree!.path)).size).toBe(12);
  });
});

describe('the hub dies', () => {
  test('while a work tree is asked for: the next one makes it, and the run ends as if nothing had been', {
    tags: ['D10'],
  }, async () => {
    const pid = await squad.hubPid();
    const ids = await start(
      ...Array.from({ length: 6 }, () => ['coder', `Go.${script('write a.txt', '| a')}`]).flat(),
    );
    process.kill(pid, 'SIGKILL');
    const runs = await Promise.all(ids.map(done));
    expect(runs.map(({ run }) => [run.status, run.error])).toEqual(ids.map(() => ['completed', null]));
  });
});

describe('squad worktrees', () => {
  test('lists them with why they are there, and prunes what has nothing of its own', async () => {
    const [empty] = await start('coder', `Look.${script('say nothing to do')}`);
    const { worktree } = (await done(empty!)).run;
    const listed = await squad.run(['worktrees']);
    expect(listed.stdout).toContain(worktree!.branch);
    await squad.json(['worktrees', 'prune', empty!]);
    await until('it is gone', () => !existsSync(worktree!.path));
    expect(squad.git('status', '--porcelain')).toBe('');
  });
});

describe('an agent that is started from a hook of git', () => {
  const hook = () => ({
    GIT_DIR: join(squad.workspace, '.git'),
    GIT_INDEX_FILE: join(squad.workspace, '.git', 'index'),
    GIT_WORK_TREE: squad.workspace,
    GIT_PREFIX: '',
    GIT_AUTHOR_NAME: 'The user',
  });
  const commit =
    'git -c user.name=Agent -c user.email=agent@localhost commit --quiet --all --message Agent && git log -1 --format=%an';
  const work = `Do it.${script('write hooked.txt', '| x', 'run git add hooked.txt', `run ${commit}`)}`;

  test('commits to its own branch, as itself', { tags: ['git-variables-of-a-hook'] }, async () => {
    const before = squad.git('rev-parse', 'main');
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', work], { env: hook() });
    const { run } = await done(runIds[0]!);
    expect(squad.git('rev-parse', 'main')).toBe(before);
    expect(squad.git('status', '--porcelain')).toBe('');
    expect(squad.git('log', '-1', '--format=%an %s', run.worktree!.branch)).toBe('Agent Agent');
    expect(run.evidence).toMatchObject({ commits: { count: 1 }, verdict: 'verified' });
  });

  test('has such a variable only where its role names it', async () => {
    squad.role('named', '---\nenv: [GIT_AUTHOR_NAME]\n---\nYou code.');
    const show = `Say.${script('run env | grep ^GIT_')}`;
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'named', show], { env: hook() });
    await done(runIds[0]!);
    expect((await squad.run(['log', runIds[0]!])).stdout.match(/^GIT_\w+=/gm)).toEqual(['GIT_AUTHOR_NAME=']);
  });
});

describe('setup of a work tree', () => {
  test('is copied and run before the agent starts, once it is trusted, for reviewers too', async () => {
    await using other = new GitSquad({
      coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
      reviewer: `---\ntype: review\n---\nYou review.${script('run cat .env made-by-setup', `call send_feedback ${JSON.stringify({ feedback: 'Fine.', feedback_type: 'approved' })}`)}`,
    });
    other.write('.gitignore', '.env\n');
    other.write(
      '.squad/squad.json',
      JSON.stringify({ worktree: { copy: ['.env'], setup: ['sh', '-c', 'echo set up > made-by-setup'] } }),
    );
    other.git('add', '-A');
    other.git('commit', '-qm', 'Settings');
    other.write('.env', 'SECRET=1\n');
    const task = `Go.${script('try cat .env made-by-setup', 'write a.txt', '| a', 'call request_review')}`;
    const run = async () => {
      const { runIds } = await other.json<{ runIds: string[] }>(['run', '-d', 'coder', task]);
      await other.run(['wait', runIds[0]!]);
      return { id: runIds[0]!, log: (await other.run(['log', runIds[0]!])).stdout };
    };
    expect((await run()).log).toContain('No such file');
    await other.run(['trust', '--yes']);
    const { id, log } = await run();
    expect(log).toContain('SECRET=1\nset up');
    const { reviews } = await other.json<{ reviews: { reviewerId: string; outcome: string }[] }>([
      'review',
      id,
    ]);
    expect(reviews).toMatchObject([{ outcome: 'approved' }]);
    expect((await other.run(['log', reviews[0]!.reviewerId])).stdout).toContain('SECRET=1\nset up');
    const { run: coder } = await other.json<Shown>(['show', id]);
    const files = other.git('ls-tree', '--name-only', coder.worktree!.branch).split('\n');
    expect(files).toEqual(expect.arrayContaining(['a.txt', 'REVIEW_FEEDBACK.md']));
    expect(files).not.toContain('made-by-setup');
  });
});
