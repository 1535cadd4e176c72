import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorkTree } from '../evidence/changes.ts';
import { Repository } from '../testing/repository.ts';
import { openGit } from './git.ts';
import { readStatus } from './git-status.ts';

let repo: Repository;
let mark: string;
let trap: string;
beforeEach(() => {
  repo = new Repository();
  mark = join(repo.folder, 'tripped');
  trap = `"echo tripped >>${mark}; cat"`;
  repo.write('a.txt', 'one\n');
  repo.commit('First');
  repo.write('a.txt', 'two\n');
});
afterEach(() => repo.remove());

const look = () => createWorkTree(repo.env).snapshot(repo.root);
const attributes = (name: string) => repo.write('.gitattributes', `* filter=${name}\n`);
const moveGitTo = (...path: string[]) => renameSync(repo.path('.git'), repo.path(join(...path)));

const HIDDEN: Record<string, () => void> = {
  'in a section of two names': () => {
    attributes('x.y');
    repo.append('.git/config', `[filter.x "y"]\n\tclean = ${trap}\n`);
  },
  'without a name': () => {
    attributes('');
    repo.append('.git/config', `[filter ""]\n\tclean = ${trap}\n`);
  },
  'with a name that no option can spell': () => {
    attributes('a=b');
    repo.append('.git/config', `[filter "a=b"]\n\tclean = ${trap}\n`);
  },
  'without a name, in an included file': () => {
    attributes('');
    repo.append('.git/config', '[include]\n\tpath = other\n');
    repo.write('.git/other', `[filter ""]\n\tclean = ${trap}\n`);
  },
  'behind a blank in the name of the shared folder': () => {
    mkdirSync(repo.path('common '));
    for (const name of ['objects', 'refs', 'config', 'logs'])
      renameSync(repo.path(`.git/${name}`), repo.path(`common /${name}`));
    repo.write('.git/commondir', '../common \n');
    attributes('x');
    repo.append('common /config', `[filter "x"]\n\tclean = ${trap}\n`);
  },
};

const UNFIT: Record<string, [why: string, () => void]> = {
  'a configuration too big to be read': [
    'the configuration of the repository cannot be read',
    () => {
      attributes('x');
      repo.append(
        '.git/config',
        `${`# ${'x'.repeat(1000)}\n`.repeat(1100)}[filter "x"]\n\tclean = ${trap}\n`,
      );
    },
  ],
  'a configuration that is a pipe': [
    'the configuration of the repository cannot be read',
    () => {
      repo.delete('.git/config');
      execFileSync('mkfifo', [repo.path('.git/config')]);
    },
  ],
  'a file .git that git reads only to a NUL': [
    'not a git repository',
    () => {
      moveGitTo('evil');
      repo.write('.git', 'gitdir: evil\0x\n');
      attributes('x');
      repo.append('evil/config', `[filter "x"]\n\tclean = ${trap}\n`);
    },
  ],
  'a file .git with a path that is no UTF-8': [
    'not a git repository',
    () => {
      repo.append('.git/config', `[filter "x"]\n\tclean = ${trap}\n`);
      execFileSync('sh', ['-c', 'mv .git "$(printf \'ev\\351il\')"'], { cwd: repo.root });
      repo.write('.git', Buffer.from('gitdir: ev\xe9il\n', 'latin1'));
      attributes('x');
    },
  ],
  'a folder that looks like a repository itself, around a .git that is none': [
    'not a git repository',
    () => {
      for (const name of ['objects', 'refs', 'HEAD', 'index', 'logs', 'config'])
        renameSync(repo.path(`.git/${name}`), repo.path(name));
      repo.write('.git/HEAD', 'x');
      attributes('x');
      repo.append('config', `[filter "x"]\n\tclean = ${trap}\n`);
    },
  ],
};

describe('a filter is not run', { tags: ['programs-that-git-would-run'] }, () => {
  test.each(Object.entries(HIDDEN))('%s', async (_, hide) => {
    hide();
    repo.git('add', 'a.txt');
    expect(existsSync(mark)).toBe(true); // plain git falls for it
    rmSync(mark);
    repo.write('a.txt', 'six\n'); // as long as before, so that git must read it
    expect((await look()).snapshot?.dirty.length).toBeGreaterThan(0);
    expect(existsSync(mark)).toBe(false);
  });

  test.each(Object.entries(UNFIT))('%s is not looked at', async (_, [why, make]) => {
    make();
    expect(await look()).toEqual({ snapshot: null, why });
    expect(existsSync(mark)).toBe(false);
  });

  test('however the configuration changes while git is started', {
    tags: ['programs-that-git-would-run'],
  }, async () => {
    attributes('x');
    const plain = repo.read('.git/config');
    writeFileSync(repo.path('c0'), plain);
    writeFileSync(repo.path('c1'), `${plain}[filter "x"]\n\tclean = ${trap}\n`);
    const turn = 'ln -f c0 .git/t && mv -f .git/t .git/config; ln -f c1 .git/t && mv -f .git/t .git/config';
    const flip = spawn('sh', ['-c', `while kill -0 ${process.pid}; do ${turn}; done`], {
      cwd: repo.root,
      stdio: 'ignore',
    });
    try {
      for (let n = 0; n < 30; n++) expect((await look()).why).toBeNull();
    } finally {
      flip.kill('SIGKILL');
      await once(flip, 'exit');
    }
    expect(existsSync(mark)).toBe(false);
  });
});

describe('harmless settings count', () => {
  const asked = async (...args: string[]) => String(await (await openGit(repo.root, repo.env)).run(args));

  test('values come through as they are, and nothing else does', async () => {
    repo.git('config', 'user.name', 'A "quoted" \\ name\nof two lines; # no comment ');
    repo.git('config', 'remote.a"b\\c.d.url', 'file:///x');
    repo.append('.git/config', '[core]\n\tignorecase\n[alias]\n\tst = "!true"\n[core]\n\tsshCommand = x\n');
    expect(await asked('config', '-z', 'user.name')).toBe(
      `${repo.git('config', 'user.name').slice(0, -1)}\0`,
    );
    expect(await asked('config', '-z', 'remote.a"b\\c.d.url')).toBe('file:///x\0');
    expect(await asked('config', '--type=bool', 'core.ignorecase')).toBe('true\n');
    const keys = await asked('config', '--local', '--list', '--name-only');
    expect(keys).not.toMatch(/alias|sshcommand/);
  });

  test('a change is noticed', async () => {
    repo.git('config', 'user.name', 'One');
    expect(await asked('config', 'user.name')).toBe('One\n');
    repo.git('config', 'user.name', 'Two');
    expect(await asked('config', 'user.name')).toBe('Two\n');
  });

  test('a broken configuration is reported', async () => {
    appendFileSync(repo.path('.git/config'), '[broken\n');
    expect((await look()).why).toMatch(/bad config/);
  });

  test('a sparse checkout of one work tree', async () => {
    repo.write('in/a', '');
    repo.write('out/b', '');
    repo.commit('Folders');
    repo.git('sparse-checkout', 'set', 'in');
    rmSync(repo.path('a.txt'));
    const git = await openGit(repo.root, repo.env);
    expect((await readStatus(git)).entries.map(({ path }) => path)).toEqual(['a.txt']);
    expect(await asked('config', 'core.sparseCheckout')).toBe('true\n');
  });

  test('a repository with ids of another kind, and a shallow one', async () => {
    const [sha256, shallow] = ['sha256', 'shallow'].map(name => join(repo.folder, name)) as [string, string];
    repo.git('init', '-q', '--object-format=sha256', sha256);
    repo.git('-C', sha256, 'commit', '-q', '--allow-empty', '-m', 'x');
    const there = await openGit(sha256, repo.env);
    expect(String(await there.run(['rev-parse', 'HEAD'])).trim()).toHaveLength(64);
    repo.commit('Second');
    repo.git('clone', '-q', '--depth=1', `file://${repo.root}`, shallow);
    const cut = await openGit(shallow, repo.env);
    expect(String(await cut.run(['rev-list', '--count', 'HEAD'])).trim()).toBe('1');
  });

  test('refs, logs and locks are the repository’s own', async () => {
    rmSync(repo.path('.git/logs'), { recursive: true });
    await asked('update-ref', '-m', 'why', 'refs/heads/other', 'HEAD');
    expect(repo.git('reflog', 'other')).toContain('why');
    repo.git('pack-refs', '--all');
    await asked('update-ref', '-d', 'refs/heads/other');
    expect(repo.read('.git/packed-refs')).not.toContain('refs/heads/other');
    repo.write('.git/refs/heads/main.lock', '');
    await expect(asked('update-ref', 'refs/heads/main', 'HEAD', '0'.repeat(40))).rejects.toMatchObject({
      said: expect.stringContaining(repo.path('.git/refs/heads/main.lock')),
    });
  });

  test('the main work tree is named as other gits name it', async () => {
    const list = await asked('worktree', 'list', '--porcelain', '-z');
    expect(list).toContain(`worktree ${repo.root}\0`);
    const taken = asked('worktree', 'add', join(repo.folder, 'w'), 'main');
    await expect(taken).rejects.toThrow(`'main' is already checked out at '${repo.root}'`);
  });

  test('through a link in the place of the configuration', async () => {
    renameSync(repo.path('.git/config'), repo.path('settings'));
    symlinkSync('../settings', repo.path('.git/config'));
    repo.git('config', '--file', repo.path('settings'), 'user.name', 'Linked');
    expect(await asked('config', 'user.name')).toBe('Linked\n');
    expect(readFileSync(repo.path('settings'), 'utf8')).toContain('Linked');
  });
});
