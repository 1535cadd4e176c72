import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WorktreeSetup } from '../../core/ports/worktrees.ts';
import { isAlive } from '../../process/testing/turn-fixture.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { agentGitOf } from '../git/git-folder.ts';
import { bubblewrap } from '../testing/sandboxed-git.ts';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

const copied = ({ path }: Worktree) => {
  const gitDir = readFileSync(join(path, '.git'), 'utf8').slice('gitdir: '.length).trim();
  return readFileSync(join(gitDir, 'squad-copied'), 'utf8').split('\0').filter(Boolean);
};

async function setUp(more: Partial<WorktreeSetup>): Promise<Worktree> {
  const { worktree } = await fixture.plan();
  await fixture.worktrees.ensure(worktree, fixture.setup(more));
  return worktree;
}

const hasText = (file: string) => existsSync(file) && readFileSync(file, 'utf8') !== '';

describe('copies', () => {
  test('files and folders as they are, and passes over what is not there', async () => {
    const { repo } = fixture;
    repo.write('.gitignore', 'node_modules\n');
    repo.commit('Ignore');
    repo.write('.env', 'KEY=1\n');
    repo.write('node_modules/x/index.js', 'x\n');
    chmodSync(repo.path('node_modules/x/index.js'), 0o755);
    utimesSync(repo.path('node_modules/x/index.js'), 1000, 1000);
    mkdirSync(repo.path('node_modules/.bin'));
    symlinkSync('../x/index.js', repo.path('node_modules/.bin/x'));
    symlinkSync('/nowhere/at all', repo.path('node_modules/dangling'));
    const { path } = await setUp({ copy: ['.env', './node_modules/', 'not-there', 'deep/not-there'] });
    expect(readFileSync(join(path, '.env'), 'utf8')).toBe('KEY=1\n');
    expect(readlinkSync(join(path, 'node_modules/.bin/x'))).toBe('../x/index.js');
    expect(readlinkSync(join(path, 'node_modules/dangling'))).toBe('/nowhere/at all');
    const file = statSync(join(path, 'node_modules/x/index.js'));
    expect(file.mode & 0o777).toBe(0o755);
    expect(file.mtimeMs).toBe(1_000_000);
  });

  test('never over what the commit brought', async () => {
    fixture.repo.append('a.txt', 'not committed\n');
    fixture.repo.append('app/b.txt', 'not committed\n');
    fixture.repo.write('app/local.txt', 'local\n');
    const { path } = await setUp({ copy: ['a.txt', 'app'] });
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(path, 'app/b.txt'), 'utf8')).toBe('two\n');
    expect(readFileSync(join(path, 'app/local.txt'), 'utf8')).toBe('local\n');
  });

  test('and writes down what git does not ignore', async () => {
    const { repo } = fixture;
    repo.write('.gitignore', 'ignored\n');
    repo.commit('Ignore');
    repo.write('ignored/x', 'x');
    repo.write('odd näme\n.txt', 'x');
    repo.write('app/local.txt', 'x');
    const worktree = await setUp({ copy: ['ignored', 'odd näme\n.txt', 'app'] });
    expect(copied(worktree)).toEqual(['app/local.txt', 'odd näme\n.txt']);
    expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 0 });
  });

  test('a workspace further down from there to there', async () => {
    const { repo } = fixture;
    repo.write('app/.env', 'x');
    repo.write('.env', 'not this one');
    const { worktree } = await fixture.plan({ workspace: repo.path('app') });
    await fixture.worktrees.ensure(worktree, fixture.setup({ source: repo.path('app'), copy: ['.env'] }));
    expect(readFileSync(join(worktree.workspace, '.env'), 'utf8')).toBe('x');
    expect(copied(worktree)).toEqual(['app/.env']);
  });

  test.each(['../outside', '/etc/hosts', 'app/../../outside', '.', '.git/config', 'out', 'out/secret'])(
    '%j not at all',
    async path => {
      const { repo } = fixture;
      const outside = join(repo.folder, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, 'secret'), 'x');
      symlinkSync(outside, repo.path('out'));
      const { worktree } = await fixture.plan();
      const ensuring = fixture.worktrees.ensure(worktree, fixture.setup({ copy: [path] }));
      await expect(ensuring).rejects.toMatchObject({
        code: 'SETUP_FAILED',
        message: expect.stringContaining(path),
      });
      expect(existsSync(worktree.path)).toBe(false);
    },
  );

  test('not through a link that the commit brought', async () => {
    const { repo } = fixture;
    const outside = join(repo.folder, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, repo.path('conf'));
    repo.commit('Link');
    const { worktree } = await fixture.plan();
    repo.delete('conf');
    repo.write('conf/.env', 'x');
    const ensuring = fixture.worktrees.ensure(worktree, fixture.setup({ copy: ['conf/.env'] }));
    await expect(ensuring).rejects.toMatchObject({ code: 'SETUP_FAILED' });
    expect(existsSync(join(outside, '.env'))).toBe(false);
    expect(lstatSync(repo.path('conf')).isDirectory()).toBe(true);
  });
});

describe('the set-up command', () => {
  test('runs in the work tree without a shell, with what it is given, and is heard', async () => {
    const setup = [
      'sh',
      '-c',
      'pwd; echo "$1" "$SECRET" "$SQUAD_RUN_ID." >&2; touch made.txt',
      'sh',
      '$HOME; `x`',
    ];
    const { PATH = '' } = fixture.repo.env;
    const worktree = await setUp({ setup, env: { PATH, SECRET: 's', SQUAD_RUN_ID: 'run_x' } });
    expect(fixture.repo.read('../setup.log')).toBe(`${worktree.path}\n$HOME; \`x\` s .\n`);
    expect(copied(worktree)).toEqual(['made.txt']);
  });

  test('that fails leaves nothing behind but its output', async () => {
    const before = fixture.repo.git('for-each-ref');
    const setup = ['sh', '-c', 'for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done; exit 3'];
    const { worktree } = await fixture.plan();
    await expect(fixture.worktrees.ensure(worktree, fixture.setup({ setup }))).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: expect.stringMatching(/exit code 3 \(full output: .*setup\.log\):\nline 2\n(.*\n)+line 9$/),
    });
    expect(existsSync(worktree.path)).toBe(false);
    expect(fixture.repo.git('for-each-ref')).toBe(before);
    expect(fixture.repo.git('worktree', 'list')).not.toContain(runId(1));
  });

  test('that cannot be started is reported', async () => {
    const ensuring = setUp({ setup: ['no-such-program'] });
    await expect(ensuring).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: expect.stringContaining('no-such-program'),
    });
  });

  /** A child of its own that hides: another session, its parent gone, deaf to TERM. */
  const hiding = [
    'sh',
    '-c',
    `setsid sh -c 'trap "" TERM; echo $$ >"$1"; while :; do sleep 1; done' sh "$0" & sleep 1000`,
  ];

  test('that takes too long is ended with all it started', async () => {
    const pidFile = join(fixture.repo.folder, 'pid');
    const ensuring = setUp({ setup: [...hiding, pidFile], setupTimeoutMs: 4000 });
    await expect(ensuring).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: expect.stringContaining('timed out after 4 s'),
    });
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });

  test('that is cancelled is ended with all it started', async () => {
    const pidFile = join(fixture.repo.folder, 'pid');
    const { worktree } = await fixture.plan();
    const giveUp = new AbortController();
    const ensuring = fixture.worktrees.ensure(
      worktree,
      fixture.setup({ setup: [...hiding, pidFile] }),
      giveUp.signal,
    );
    await expect.poll(() => hasText(pidFile)).toBe(true);
    giveUp.abort();
    await expect(ensuring).rejects.toMatchObject({ code: 'SETUP_FAILED' });
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
    expect(existsSync(worktree.path)).toBe(false);
  });

  test('of a hub that is no more is ended before the work tree is made anew', async () => {
    const pidFile = join(fixture.repo.folder, 'pid');
    const { worktree } = await fixture.plan();
    const setup = fixture.setup({ setup: [...hiding, pidFile] });
    const code = `import { createWorktrees } from ${JSON.stringify(new URL('./worktrees.ts', import.meta.url))};
      await createWorktrees(${JSON.stringify({ folder: fixture.folder })}).ensure(...${JSON.stringify([worktree, setup])});`;
    const hub = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    await expect.poll(() => hasText(pidFile)).toBe(true);
    hub.kill('SIGKILL');
    await once(hub, 'exit');
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(true);
    expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: true });
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });
});

describe('the set-up command of a sandboxed run', { tags: ['leaving-the-sandbox'] }, () => {
  async function setUpInside(worktree: Worktree, more: Partial<WorktreeSetup>, signal?: AbortSignal) {
    const confine: WorktreeSetup['confine'] = async command => {
      const mounts = await fixture.worktrees.confine(worktree, 'set-up');
      return { ...command, argv: ['bwrap', ...bubblewrap(mounts, worktree.path, command.argv)] };
    };
    await fixture.worktrees.ensure(worktree, fixture.setup({ confine, ...more }), signal);
  }
  const isRunning = (mark: string) =>
    execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(mark);
  /** Deaf to TERM and in another session. Its pid is of no use outside, so it is known by its arguments. */
  const hiding = (mark: string) => [
    ...[
      'sh',
      '-c',
      `setsid sh -c 'trap "" TERM; touch started; while :; do sleep 1; done' ${mark} & sleep 1000`,
    ],
  ];

  test('has the work tree and its git, and nothing else', async () => {
    const { worktree } = await fixture.plan();
    const { root } = fixture.repo;
    fixture.repo.write('.env', 'SECRET=1');
    const script = `echo "$1" > made.txt; git log -1 --format=%s >> made.txt; cat "${root}/.env" >> made.txt
      git config core.pager evil; git commit -q --allow-empty -m "By the set-up"`;
    await setUpInside(worktree, { setup: ['sh', '-c', script, 'sh', 'a $b'] });
    expect(readFileSync(join(worktree.path, 'made.txt'), 'utf8')).toBe('a $b\nFirst\n');
    expect(copied(worktree)).toEqual(['made.txt']);
    expect(fixture.repo.git('log', '-1', '--format=%s', worktree.branch)).toBe('By the set-up\n');
    expect(fixture.repo.git('config', '--list')).not.toContain('evil');
    expect(await fixture.worktrees.ensure(worktree, null)).toEqual({ made: false });
    await fixture.worktrees.confine(worktree, 'write');
  });

  test('that fails leaves nothing behind, and can be tried again', async () => {
    const { worktree } = await fixture.plan();
    const before = fixture.repo.git('for-each-ref');
    const failing = setUpInside(worktree, {
      setup: ['sh', '-c', 'git commit -q --allow-empty -m X; exit 3'],
    });
    await expect(failing).rejects.toMatchObject({ code: 'SETUP_FAILED' });
    expect(existsSync(worktree.path)).toBe(false);
    expect(existsSync(agentGitOf(worktree.path))).toBe(false);
    expect(fixture.repo.git('for-each-ref')).toBe(before);
    await setUpInside(worktree, { setup: ['true'] });
  });

  test('is not run outside if there is no sandbox', async () => {
    const made = join(fixture.repo.folder, 'made');
    const ensuring = setUp({
      setup: ['touch', made],
      confine: async () => {
        throw new Error('bubblewrap (bwrap) was not found in PATH');
      },
    });
    await expect(ensuring).rejects.toMatchObject({
      code: 'SETUP_FAILED',
      message: expect.stringContaining('bubblewrap (bwrap) was not found'),
    });
    expect(existsSync(made)).toBe(false);
  });

  test('is ended with all it started when nobody waits for it any more, or it takes too long', async () => {
    const { worktree } = await fixture.plan();
    const giveUp = new AbortController();
    const [cancelled, slow] = [`cancelled-${process.pid}`, `slow-${process.pid}`];
    const ensuring = setUpInside(worktree, { setup: hiding(cancelled) }, giveUp.signal);
    await expect.poll(() => existsSync(join(worktree.path, 'started'))).toBe(true);
    expect(isRunning(cancelled)).toBe(true);
    giveUp.abort();
    await expect(ensuring).rejects.toMatchObject({ code: 'SETUP_FAILED' });
    expect(isRunning(cancelled)).toBe(false);
    await expect(setUpInside(worktree, { setup: hiding(slow), setupTimeoutMs: 4000 })).rejects.toMatchObject({
      message: expect.stringContaining('timed out after 4 s'),
    });
    expect(isRunning(slow)).toBe(false);
  });
});
