import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BranchFixture } from '../testing/branch-fixture.ts';

let at: BranchFixture;
beforeEach(() => {
  at = new BranchFixture();
});
afterEach(() => at.remove());

const prepare = () => at.branches.prepareAll(at.worktree, 'Work');

describe('everything that is not committed', () => {
  test('becomes one commit, and the tree is clean after it', async () => {
    at.write('a.txt', 'changed\n');
    at.write('staged.txt', 'staged\n');
    at.git('add', 'staged.txt');
    at.write('staged.txt', 'staged, then changed\n');
    at.write('meant.txt', 'meant to be added\n');
    at.git('add', '-N', 'meant.txt');
    at.write('run.sh', '#!/bin/sh\n');
    chmodSync(join(at.root, 'run.sh'), 0o755);
    symlinkSync('/etc/passwd', join(at.root, 'link'));
    at.write('x.log', 'ignored\n');
    rmSync(join(at.root, 'sub/b.txt'));
    const commit = (await at.commitAll('Work of one'))!;
    expect(at.tip()).toBe(commit);
    expect(at.status()).toBe('');
    expect(at.git('diff-files')).toBe('');
    expect(at.files(commit)).toEqual(['.gitignore', 'a.txt', 'link', 'meant.txt', 'run.sh', 'staged.txt']);
    expect(at.shown('staged.txt')).toBe('staged, then changed\n');
    expect(at.git('ls-tree', commit, 'link', 'run.sh')).toMatch(/^120000 .*\n100755 /);
    expect(at.git('log', '-1', '--format=%P %an <%ae> %cn %s')).toBe(
      `${at.base} Squad <squad@localhost> Squad Work of one\n`,
    );
  });

  test('is nothing when there is nothing', async () => {
    at.write('x.log', 'ignored\n');
    expect(await prepare()).toBeNull();
    expect(at.tip()).toBe(at.base);
  });

  test('is refused, with its names, when git is set to hide all of it', async () => {
    at.write('a.txt', 'changed\n');
    at.git('update-index', '--assume-unchanged', 'a.txt');
    await expect(prepare()).rejects.toMatchObject({
      code: 'UNCOMMITTABLE',
      message: expect.stringContaining('a.txt'),
      suggestions: [expect.stringContaining('--no-assume-unchanged')],
    });
    at.git('update-index', '--no-assume-unchanged', 'a.txt');
    expect(await prepare()).not.toBeNull();
  });

  test('is refused when git is set to hide a part of it', async () => {
    at.write('a.txt', 'changed\n');
    at.write('seen.txt', 'new\n');
    at.git('update-index', '--assume-unchanged', 'a.txt');
    const refusal = { code: 'UNCOMMITTABLE', message: expect.stringMatching(/a\.txt/) };
    await expect(prepare()).rejects.toMatchObject(refusal);
    at.git('commit', '-q', '-m', 'Work that was committed does not make up for it', '--allow-empty');
    await expect(prepare()).rejects.toMatchObject(refusal);
  });

  test('is nothing when what was staged is back in the folder as it was', async () => {
    at.write('a.txt', 'two\n');
    at.git('add', 'a.txt');
    at.write('a.txt', 'one\n');
    expect(await prepare()).toBeNull();
  });

  test('has a file that is as long as it was, and as old as the index', async () => {
    const seconds = statSync(join(at.gitDir, 'index')).mtimeMs / 1000;
    at.write('a.txt', 'two\n');
    utimesSync(join(at.root, 'a.txt'), seconds, seconds);
    at.write('new.txt', 'new\n');
    expect(at.shown('a.txt', (await prepare())!.to)).toBe('two\n');
  });

  test('changes neither index nor branch until it is applied', async () => {
    at.write('new.txt', 'new\n');
    const before = at.git('status', '--porcelain', '-uall');
    const move = (await prepare())!;
    expect(move.from).toBe(at.base);
    expect(at.status()).toBe(before);
    expect(at.tip()).toBe(at.base);
  });

  test('takes names as they are', async () => {
    const names = ['-rf', ' a b ', 'new\nline', '"quoted"', ':(exclude)x', 'ünï', '*'];
    for (const name of names) at.write(name, name);
    const bytes = Buffer.concat([Buffer.from(`${at.root}/`), Buffer.from([0x66, 0xff])]);
    writeFileSync(bytes, 'no text');
    const commit = (await at.commitAll())!;
    expect(at.files(commit)).toEqual(expect.arrayContaining(names));
    expect(at.files(commit)).toHaveLength(names.length + 4);
    expect(at.status()).toBe('');
  });

  test('follows a folder that became a file, and a file that became a folder', async () => {
    rmSync(join(at.root, 'sub'), { recursive: true });
    at.write('sub', 'a file\n');
    rmSync(join(at.root, 'a.txt'));
    at.write('a.txt/inside', 'a folder\n');
    expect(at.files((await at.commitAll())!)).toEqual(['.gitignore', 'a.txt/inside', 'sub']);
    expect(at.status()).toBe('');
  });

  test('follows a folder that became a link, wherever that leads', async () => {
    at.write('sub/deep/c.txt', 'three\n');
    await at.commitAll();
    renameSync(join(at.root, 'sub'), join(at.repo.folder, 'elsewhere'));
    symlinkSync('../elsewhere', join(at.root, 'sub'));
    expect(at.files((await at.commitAll())!)).toEqual(['.gitignore', 'a.txt', 'sub']);
    expect(at.shown('sub')).toBe('../elsewhere');
    expect(at.status()).toBe('');
  });

  test('leaves out what was copied into the tree, staged or not', async () => {
    writeFileSync(join(at.gitDir, 'squad-copied'), '.env\0key.pem\0');
    at.write('.env', 'SECRET=1\n');
    at.write('key.pem', 'secret\n');
    at.git('add', 'key.pem');
    expect(await prepare()).toBeNull();
    at.write('new.txt', 'new\n');
    expect(at.files((await at.commitAll())!)).toEqual(['.gitignore', 'a.txt', 'new.txt', 'sub/b.txt']);
    expect(at.status()).toBe('?? .env\n?? key.pem\n');
  });

  test('leaves out what the user ignores everywhere', async () => {
    writeFileSync(join(at.repo.env.HOME, '.gitconfig'), '[core]\n\texcludesFile = ~/ignored\n');
    writeFileSync(join(at.repo.env.HOME, 'ignored'), '.env\n');
    at.write('.env', 'SECRET=1\n');
    expect(await prepare()).toBeNull();
  });

  test('has line ends as the attributes want them', async () => {
    at.write('.gitattributes', '*.txt text eol=crlf\n');
    at.write('lines.txt', 'one\r\ntwo\r\n');
    await at.commitAll();
    expect(at.shown('lines.txt')).toBe('one\ntwo\n');
    expect(at.status()).toBe('');
  });
});

describe('work that cannot be committed is named, and nothing is changed', () => {
  const refused = async (...parts: string[]) => {
    const tip = at.tip();
    const thrown = await prepare().then(
      () => null,
      error => error,
    );
    expect(thrown).toMatchObject({ code: 'UNCOMMITTABLE' });
    for (const part of parts) expect(`${thrown.message} ${thrown.suggestions}`).toContain(part);
    expect(at.tip()).toBe(tip);
  };

  test('a merge with conflicts, and one that was only left open', async () => {
    at.repo.write('a.txt', 'theirs\n');
    at.repo.commit('Theirs');
    at.write('a.txt', 'ours\n');
    at.git('commit', '-qam', 'Ours');
    expect(() => at.git('merge', 'main')).toThrow();
    await refused('a merge is under way');
    rmSync(join(at.gitDir, 'MERGE_HEAD'));
    await refused('conflicts', 'a.txt');
  });

  test('another branch, or none', async () => {
    at.write('a.txt', 'changed\n');
    at.git('switch', '-qc', 'other');
    await refused('on the branch other', `git switch ${at.branch}`);
    at.git('checkout', '-q', '--detach');
    await refused('on no branch');
  });

  test('files that a filter belongs to, unless the agent staged them itself', async () => {
    at.write('.gitattributes', '*.psd filter=lfs\n');
    at.write('big.psd', 'content\n');
    await refused('filter', 'big.psd', 'yourself');
    at.git('add', '-A');
    expect(await prepare()).not.toBeNull();
    at.git('commit', '-qm', 'Own');
    rmSync(join(at.root, 'big.psd'));
    expect(await prepare()).not.toBeNull();
  });

  test('a repository inside, new or staged, but not a submodule', async () => {
    at.write('inner/x.txt', 'x\n');
    execFileSync('git', ['init', '-q'], { cwd: join(at.root, 'inner'), env: at.repo.env });
    await refused('repository inside', 'inner');
    execFileSync(
      'git',
      ['-c', 'user.name=x', '-c', 'user.email=x', 'commit', '-q', '--allow-empty', '-m', 'x'],
      {
        cwd: join(at.root, 'inner'),
        env: at.repo.env,
      },
    );
    await refused('repository inside', 'inner');
    at.git('add', 'inner');
    await refused('repository inside', 'inner');
    at.write('.gitmodules', '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n');
    expect(await prepare()).not.toBeNull();
  });

  test('a new file that is huge', async () => {
    at.write('core.dump', '');
    const before = at.git('count-objects', '-v');
    truncateSync(join(at.root, 'core.dump'), 101 * 1024 * 1024);
    await refused('100 MiB', 'core.dump');
    expect(at.git('count-objects', '-v')).toBe(before);
  });

  test('many are cut, and none can fake a line', async () => {
    at.write('.gitattributes', '*.psd filter=lfs\n');
    for (let n = 0; n < 9; n++) at.write(`${n}\n.psd`, 'x');
    await refused('"0\\n.psd"', 'and 4 more');
  });

  test('a folder that is gone, or is another repository by now', async () => {
    rmSync(at.root, { recursive: true });
    await expect(prepare()).rejects.toMatchObject({ code: 'WORKTREE_MISSING' });
    mkdirSync(at.root);
    execFileSync('git', ['init', '-q'], { cwd: at.root, env: at.repo.env });
    await expect(prepare()).rejects.toMatchObject({ code: 'WORKTREE_MISSING' });
  });
});

describe('applying and taking back', () => {
  test('a second time does nothing, also to what was staged since', async () => {
    at.write('new.txt', 'new\n');
    const move = (await prepare())!;
    await at.branches.apply(at.worktree, move);
    at.write('later.txt', 'later\n');
    at.git('add', 'later.txt');
    await at.branches.apply(at.worktree, move);
    expect(at.status()).toBe('A  later.txt\n');
    at.git('commit', '-qm', 'Later');
    await at.branches.apply(at.worktree, move);
    expect(at.subjects()).toEqual(['Later', 'Work', 'First']);
  });

  test('finds that the agent committed meanwhile', async () => {
    at.write('new.txt', 'new\n');
    const move = (await prepare())!;
    at.git('add', '-A');
    at.git('commit', '-qm', 'Own');
    const index = at.git('ls-files', '-s');
    await expect(at.branches.apply(at.worktree, move)).rejects.toMatchObject({ code: 'BRANCH_MOVED' });
    expect(at.git('ls-files', '-s')).toBe(index);
    await at.branches.undo(at.worktree, move);
    expect(at.subjects()).toEqual(['Own', 'First']);
  });

  test('finds that a merge has begun meanwhile, and leaves its conflicts', async () => {
    at.repo.write('a.txt', 'theirs\n');
    at.repo.commit('Theirs');
    at.write('a.txt', 'ours\n');
    at.git('commit', '-qam', 'Ours');
    at.write('new.txt', 'new\n');
    const move = (await prepare())!;
    expect(() => at.git('merge', 'main')).toThrow();
    await expect(at.branches.apply(at.worktree, move)).rejects.toMatchObject({ code: 'BRANCH_MOVED' });
    expect(at.status()).toContain('UU a.txt');
  });

  test('the work is uncommitted again, and the folder as it was', async () => {
    at.write('a.txt', 'changed\n');
    at.write('new.txt', 'new\n');
    const move = (await prepare())!;
    await at.branches.apply(at.worktree, move);
    await at.branches.undo(at.worktree, move);
    expect(at.tip()).toBe(at.base);
    expect(at.status()).toBe(' M a.txt\n?? new.txt\n');
    await at.branches.undo(at.worktree, move);
    expect(at.status()).toBe(' M a.txt\n?? new.txt\n');
  });

  describe('the index is what it was before', () => {
    const previous = () => readdirSync(at.gitDir).filter(name => name.startsWith('squad-'));
    const stageAll = () => {
      at.write('x.log', 'ignored, and staged all the same\n');
      at.git('add', '-f', 'x.log');
      at.write('meant.txt', 'meant\n');
      at.git('add', '-N', 'meant.txt');
      at.write('a.txt', 'staged\n');
      at.git('add', 'a.txt');
      at.write('a.txt', 'staged, then changed\n');
      return at.git('ls-files', '-s');
    };

    test('with what is ignored, only meant, or staged otherwise than it is in the folder', async () => {
      const staged = stageAll();
      const status = at.status();
      const move = (await prepare())!;
      await at.branches.apply(at.worktree, move);
      expect(at.status()).toBe('');
      await at.branches.undo(at.worktree, move);
      expect([at.tip(), at.git('ls-files', '-s'), at.status()]).toEqual([at.base, staged, status]);
      expect(at.files((await prepare())!.to)).toContain('x.log');
      expect(previous()).toEqual([]);
    });

    test('also after a death between index and branch, and with what was staged since', async () => {
      const staged = stageAll();
      const move = (await prepare())!;
      await at.branches.apply(at.worktree, move);
      at.repo.git('update-ref', `refs/heads/${at.branch}`, move.from);
      at.write('y.log', 'since\n');
      at.git('add', '-f', 'y.log');
      await at.branches.undo(at.worktree, move);
      const now = at.git('ls-files', '-s').split('\n');
      expect(now.filter(line => !line.endsWith('y.log')).join('\n')).toBe(staged);
      expect(now.some(line => line.endsWith('y.log'))).toBe(true);
    });

    test('moves happen one after the other, and no more than two are kept', async () => {
      const moves = [];
      let staged = '';
      for (const name of ['1.log', '2.log', '3.log']) {
        at.write(name, name);
        at.git('add', '-f', name);
        staged = at.git('ls-files', '-s');
        const move = (await prepare())!;
        await at.branches.apply(at.worktree, move);
        moves.push(move);
      }
      expect(previous()).toHaveLength(2);
      for (const move of moves.slice(1).reverse()) {
        await at.branches.undo(at.worktree, move);
        expect([at.tip(), at.git('ls-files', '-s')]).toEqual([move.from, staged]);
      }
      expect(previous()).toEqual([]);
    });

    test('and nothing is kept of a move that could not be made', async () => {
      stageAll();
      const move = (await prepare())!;
      const lock = join(at.repo.root, '.git', `refs/heads/${at.branch}.lock`);
      writeFileSync(lock, '');
      const staged = at.git('ls-files', '-s');
      await expect(at.branches.apply(at.worktree, move)).rejects.toMatchObject({ code: 'GIT_FAILED' });
      expect([at.git('ls-files', '-s'), previous()]).toEqual([staged, []]);
    });
  });

  test('is not taken back once the branch went on', async () => {
    at.write('a.txt', 'changed\n');
    const move = (await prepare())!;
    await at.branches.apply(at.worktree, move);
    at.git('commit', '-q', '--allow-empty', '-m', 'More');
    await at.branches.undo(at.worktree, move);
    expect(at.subjects()).toEqual(['More', 'Work', 'First']);
  });
});

test('nothing a repository names is run', async () => {
  const mark = join(at.repo.folder, 'tripped');
  const trap = join(at.repo.folder, 'trap.sh');
  writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >>${mark}\ncat\n`, { mode: 0o755 });
  const hooks = join(at.repo.folder, 'hooks');
  mkdirSync(hooks);
  for (const hook of [
    'pre-commit',
    'commit-msg',
    'post-commit',
    'post-checkout',
    'post-index-change',
    'reference-transaction',
  ])
    for (const folder of [hooks, at.repo.path('.git/hooks')])
      writeFileSync(join(folder, hook), `#!/bin/sh\n${trap}\n`, { mode: 0o755 });
  at.write('inner/x.txt', 'x\n');
  const inner = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', ...args], {
      cwd: join(at.root, 'inner'),
      env: at.repo.env,
    });
  inner('init', '-q');
  inner('add', '-A');
  inner('commit', '-q', '-m', 'x');
  at.write('.gitmodules', '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n');
  at.git('add', '-A');
  at.git('commit', '-qm', 'With a submodule');
  // Its own configuration is not among what is switched off for the repository around it.
  inner('config', 'filter.inner.clean', trap);
  at.write('inner/.gitattributes', '* filter=inner\n');
  for (const [key, value] of [
    ['core.fsmonitor', trap],
    ['core.hooksPath', hooks],
    ['commit.gpgSign', 'true'],
    ['gpg.program', trap],
    ['filter.trap.clean', trap],
    ['filter.trap.smudge', trap],
    ['filter.trap.required', 'true'],
  ])
    at.repo.git('config', key!, value!);
  rmSync(mark, { force: true });
  at.write('a.txt', 'changed\n');
  at.write('inner/x.txt', 'y\n');
  const move = (await prepare())!;
  await at.branches.apply(at.worktree, move);
  await at.branches.undo(at.worktree, move);
  await at.feedback('Do better\n');
  at.repo.write('.git/info/attributes', '* filter=trap\n');
  await at.feedback('Do better still\n');
  await expect(prepare()).rejects.toMatchObject({ code: 'UNCOMMITTABLE' });
  expect(existsSync(mark)).toBe(false);
  at.git('status');
  expect(existsSync(mark)).toBe(true);
});

test('a branch that is only a name for another is not moved', async () => {
  at.git('checkout', '-q', '--detach');
  at.git('symbolic-ref', `refs/heads/${at.branch}`, 'refs/heads/main');
  await expect(at.branches.tip(at.worktree)).rejects.toMatchObject({ code: 'GIT_FAILED' });
});

test('a repository that is gone with its tree, and a branch that is gone, are said to be', async () => {
  at.git('checkout', '-q', '--detach');
  at.git('branch', '-qD', at.branch);
  await expect(at.branches.tip(at.worktree)).rejects.toMatchObject({ code: 'WORKTREE_MISSING' });
  renameSync(at.repo.root, `${at.repo.root}-moved`);
  await expect(at.branches.tip(at.worktree)).rejects.toMatchObject({ code: 'WORKTREE_MISSING' });
});
