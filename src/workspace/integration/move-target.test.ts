import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TargetMove } from '../../core/ports/integration.ts';
import { Repository } from '../testing/repository.ts';
import { createIntegration } from './integration.ts';

let repo: Repository;
let move: TargetMove;
const integration = () => createIntegration(repo.env);
const nothing = () => {};

/** `main` is checked out at the root; `to` changes, removes, adds and turns a file into a folder and back. */
beforeEach(() => {
  repo = new Repository();
  for (const name of ['changed.txt', 'removed/only.txt', 'to-folder', 'to-file/x', 'stays.txt'])
    repo.write(name, `${name}\n`);
  repo.write('.gitignore', '*.ignored\n');
  const from = repo.commit('First');
  repo.git('checkout', '-q', '-b', 'work');
  repo.write('changed.txt', 'other\n');
  for (const gone of ['removed/only.txt', 'to-folder', 'to-file/x']) repo.git('rm', '-q', gone);
  repo.write('to-folder/y', 'now a folder\n');
  repo.write('to-file', 'now a file\n');
  repo.write('new folder/a b.txt', 'new\n');
  writeFileSync(repo.path('run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  const to = repo.commit('Second');
  repo.git('checkout', '-q', 'main');
  move = { repository: repo.root, target: 'main', from, to, folder: repo.root };
});
afterEach(() => repo.remove());

const tip = () => repo.git('rev-parse', 'main').trim();
const isFollowed = () => {
  expect(tip()).toBe(move.to);
  expect(repo.git('status', '--porcelain')).toBe('');
  expect(repo.read('new folder/a b.txt')).toBe('new\n');
  expect(repo.read('to-folder/y')).toBe('now a folder\n');
  expect(repo.read('to-file')).toBe('now a file\n');
  expect(existsSync(repo.path('removed'))).toBe(false);
  isTidy();
};
const isUntouched = () => {
  expect(tip()).toBe(move.from);
  expect(repo.read('changed.txt')).toBe('changed.txt\n');
  isTidy();
};
const isTidy = () =>
  expect(
    readdirSync(repo.path('.git')).filter(name => name.startsWith('squad') || name.endsWith('.lock')),
  ).toEqual([]);

test('the branch moves, and files and index with it', async () => {
  expect(await integration().fit(move)).toEqual({ obstacles: [], warnings: [] });
  expect(await integration().move(move, nothing)).toEqual([]);
  isFollowed();
  expect(repo.git('reflog', '-1', '--format=%gs', 'main').trim()).toBe('squad integrate');
});

test("the user's own changes elsewhere in the folder stay, staged, unstaged and untracked", async () => {
  repo.write('stays.txt', 'mine\n');
  repo.write('staged.txt', 'mine\n');
  repo.git('add', 'staged.txt');
  repo.write('untracked.txt', 'mine\n');
  await integration().move(move, nothing);
  expect(repo.git('status', '--porcelain')).toBe('A  staged.txt\n M stays.txt\n?? untracked.txt\n');
  expect(repo.read('stays.txt')).toBe('mine\n');
  expect(repo.git('diff', '--cached', '--name-only')).toBe('staged.txt\n');
  expect(tip()).toBe(move.to);
});

test('a branch that nobody has checked out moves alone', async () => {
  repo.git('checkout', '-q', '--detach');
  await integration().move({ ...move, folder: null }, nothing);
  expect(tip()).toBe(move.to);
  expect(repo.read('changed.txt')).toBe('changed.txt\n');
});

describe('refused with its name, and nothing is moved', () => {
  const obstacles: Record<string, [() => void, string]> = {
    'a changed file': [() => repo.write('changed.txt', 'mine\n'), 'changed.txt has uncommitted changes'],
    'a staged change': [
      () => {
        repo.write('changed.txt', 'mine\n');
        repo.git('add', '-A');
        repo.write('changed.txt', 'changed.txt\n');
      },
      'changed.txt has uncommitted changes',
    ],
    'a file that is to go': [
      () => repo.append('removed/only.txt', 'mine\n'),
      'removed/only.txt has uncommitted changes',
    ],
    'an untracked file in the way': [
      () => repo.write('new folder/a b.txt', 'mine\n'),
      'new folder/a b.txt exists but is not in git',
    ],
    'an ignored file in the way of a folder': [
      () => repo.write('to-file/z.ignored', 'mine\n'),
      'to-file exists but is not in git',
    ],
    'a link in the way of a folder': [
      () => symlinkSync('/tmp', repo.path('new folder')),
      'new folder exists but is not in git',
    ],
    'a change hidden by assume-unchanged': [
      () => {
        repo.git('update-index', '--assume-unchanged', 'changed.txt');
        repo.write('changed.txt', 'mine\n');
      },
      'changed.txt has uncommitted changes',
    ],
    'a change hidden by skip-worktree': [
      () => {
        repo.git('update-index', '--skip-worktree', 'changed.txt');
        repo.write('changed.txt', 'mine\n');
      },
      'changed.txt has uncommitted changes',
    ],
    'a change the configuration has git overlook': [
      () => {
        const { atime, mtime } = statSync(repo.path('changed.txt'));
        utimesSync(repo.path('changed.txt'), atime, new Date(mtime.getTime() - 60_000));
        repo.git('update-index', '--refresh');
        const old = statSync(repo.path('changed.txt'));
        repo.write('other', 'chanGed.txt\n');
        utimesSync(repo.path('other'), old.atime, old.mtime);
        renameSync(repo.path('other'), repo.path('changed.txt'));
        repo.git('config', 'core.checkStat', 'minimal');
        repo.git('config', 'core.trustctime', 'false');
      },
      'changed.txt has uncommitted changes',
    ],
    'a merge under way': [() => repo.write('.git/MERGE_HEAD', `${move.to}\n`), 'a merge is under way'],
  };
  test.each(Object.entries(obstacles))('%s', async (_, [make, words]) => {
    make();
    expect((await integration().fit(move)).obstacles).toEqual([words]);
    await expect(integration().move(move, nothing)).rejects.toMatchObject({
      code: 'TARGET_BLOCKED',
      message: expect.stringContaining(words),
    });
    expect(tip()).toBe(move.from);
    isTidy();
  });

  test('a branch that has moved since', async () => {
    repo.git('checkout', '-q', '--detach');
    const other = repo.commit('Meanwhile');
    repo.git('branch', '-f', 'main', other);
    await expect(integration().move({ ...move, folder: null }, nothing)).rejects.toMatchObject({
      code: 'BRANCH_MOVED',
    });
    expect(tip()).toBe(other);
  });
});

describe('flags in the index', () => {
  test('a file that a sparse checkout keeps out stays out, changed or removed', async () => {
    repo.git('sparse-checkout', 'set', '--no-cone', '/*', '!/changed.txt', '!/removed/');
    expect(existsSync(repo.path('changed.txt'))).toBe(false);
    expect((await integration().fit(move)).obstacles).toEqual([]);
    expect(await integration().move(move, nothing)).toEqual([]);
    expect(existsSync(repo.path('changed.txt'))).toBe(false);
    expect(repo.git('status', '--porcelain')).toBe('');
    expect(tip()).toBe(move.to);
    isTidy();
  });

  test('a file that is kept out, and there as it was, follows and stays flagged', async () => {
    repo.git('update-index', '--skip-worktree', 'changed.txt');
    expect(await integration().move(move, nothing)).toEqual([]);
    expect(repo.read('changed.txt')).toBe('other\n');
    expect(repo.git('ls-files', '-v', 'changed.txt')).toBe('S changed.txt\n');
    isFollowed();
  });
});

test('new files are written by the attributes of the new commit', async () => {
  repo.git('checkout', '-q', 'work');
  repo.write('.gitattributes', '*.txt text eol=crlf\n');
  move.to = repo.commit('Attributes');
  repo.git('checkout', '-q', 'main');
  expect(await integration().move(move, nothing)).toEqual([]);
  expect(repo.read('changed.txt')).toBe('other\r\n');
});

describe('a change that somebody saves meanwhile stays, and status reports it', () => {
  /** Once, at the first such step. */
  const at = (step: string, act: () => void) => {
    let isMade = false;
    return integration().move(move, name => {
      if (name !== step || isMade) return;
      isMade = true;
      act();
    });
  };
  const save = (path: string) => {
    repo.write(`${path}~`, 'mine\n');
    renameSync(repo.path(`${path}~`), repo.path(path));
  };
  const isMine = () => {
    expect(repo.read('changed.txt')).toBe('mine\n');
    expect(repo.git('status', '--porcelain')).toBe(' M changed.txt\n');
    expect(tip()).toBe(move.to);
    isTidy();
  };
  const left = ['changed.txt was left as it is in the folder'];

  test.each(['branch moved', 'old files removed', 'new files written'])('at: %s', async step => {
    expect(await at(step, () => save('changed.txt'))).toEqual(left);
    isMine();
  });

  test('while the old file is out', async () => {
    const notes = await integration().move(move, name => {
      const isOut = name === 'old file taken out' && !existsSync(repo.path('changed.txt'));
      if (isOut) save('changed.txt');
    });
    expect(notes).toEqual(left);
    isMine();
  });

  test('into the old file, by a program that has it open', async () => {
    const file = openSync(repo.path('changed.txt'), 'r+');
    expect(
      await at('new files written', () => {
        expect(repo.read('changed.txt')).toBe('other\n');
        ftruncateSync(file);
        writeSync(file, 'mine\n', 0);
        closeSync(file);
      }),
    ).toEqual(left);
    isMine();
  });

  test('into a file that goes, by a program that has it open', async () => {
    const file = openSync(repo.path('removed/only.txt'), 'a');
    const notes = await at('new files written', () => writeSync(file, 'mine\n'));
    closeSync(file);
    expect(notes).toEqual(['removed/only.txt is still in the folder: it had changes of its own']);
    expect(repo.read('removed/only.txt')).toBe('removed/only.txt\nmine\n');
    expect(repo.git('status', '--porcelain')).toBe('?? removed/\n');
  });

  test('twice, into the old file and to its place: both stay', async () => {
    const file = openSync(repo.path('changed.txt'), 'r+');
    const notes = await at('new files written', () => {
      writeSync(file, 'first\n', 0);
      save('changed.txt');
    });
    closeSync(file);
    expect(notes).toEqual([
      ...left,
      'changed.txt was saved by another program during the merge; that version is kept as changed.txt.kept-1',
    ]);
    expect(repo.read('changed.txt')).toBe('mine\n');
    expect(repo.read('changed.txt.kept-1')).toContain('first\n');
  });
});

test('files that a filter keeps, and hooks, are not run; the user is warned of the first', async () => {
  const mark = join(repo.folder, 'tripped');
  repo.git('config', 'filter.trap.smudge', `touch ${mark}; cat`);
  repo.write('.git/info/attributes', '*.txt filter=trap\n');
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change', 'post-merge'])
    writeFileSync(repo.path(`.git/hooks/${hook}`), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  expect((await integration().fit(move)).warnings).toEqual([
    expect.stringContaining('changed.txt uses a filter'),
    expect.stringContaining('new folder/a b.txt uses a filter'),
  ]);
  await integration().move(move, nothing);
  expect(existsSync(mark)).toBe(false);
  expect(tip()).toBe(move.to);
});

describe('killed on the way, it is finished or as before', () => {
  const die = (step: string) => {
    const script = join(import.meta.dirname, '..', 'testing', 'move-and-die.ts');
    const { signal, stderr } = spawnSync(process.execPath, [script, JSON.stringify(move), step], {
      env: repo.env,
      encoding: 'utf8',
    });
    expect(signal, stderr).toBe('SIGKILL');
  };

  test('before the branch has moved: as before, and the index is free again', async () => {
    die('index locked');
    expect(existsSync(repo.path('.git/index.lock'))).toBe(true);
    expect(await integration().settle(move)).toEqual({ moved: false, notes: [] });
    isUntouched();
  });

  test.each([
    'branch moved',
    'old file taken out',
    'old files removed',
    'new files written',
    'index installed',
  ])('%s', async step => {
    die(step);
    expect(await integration().settle(move)).toEqual({ moved: true, notes: [] });
    isFollowed();
    expect(await integration().settle(move)).toEqual({ moved: true, notes: [] });
    isFollowed();
  });

  test('changes of the user meanwhile are left alone and reported', { tags: ['F6'] }, async () => {
    die('old files removed');
    repo.write('changed.txt', 'mine\n');
    expect((await integration().settle(move)).notes).toEqual(['changed.txt was left as it is in the folder']);
    expect(repo.read('changed.txt')).toBe('mine\n');
    expect(repo.git('status', '--porcelain')).toBe(' M changed.txt\n');
  });

  test('changes to a file that was out are put back, or beside the present file', async () => {
    die('new files written');
    const out = (path: string) => repo.path(`.git/squad-aside/old/${path}`);
    writeFileSync(out('changed.txt'), 'mine\n');
    writeFileSync(out('removed/only.txt'), 'mine\n');
    expect((await integration().settle(move)).notes).toEqual([
      'changed.txt was saved by another program during the merge; that version is kept as changed.txt.kept-1',
      'removed/only.txt is still in the folder: it had changes of its own',
    ]);
    expect(repo.read('changed.txt.kept-1')).toBe('mine\n');
    expect(repo.read('removed/only.txt')).toBe('mine\n');
    expect(repo.read('changed.txt')).toBe('other\n');
    isTidy();
  });

  test('a branch that went on from there is not gone after', async () => {
    die('branch moved');
    const further = execFileSync(
      'git',
      ['commit-tree', '-p', move.to, '-m', 'Further', `${move.to}^{tree}`],
      {
        cwd: repo.root,
        env: {
          ...repo.env,
          GIT_AUTHOR_NAME: 'T',
          GIT_AUTHOR_EMAIL: 't@t',
          GIT_COMMITTER_NAME: 'T',
          GIT_COMMITTER_EMAIL: 't@t',
        },
        encoding: 'utf8',
      },
    ).trim();
    repo.git('update-ref', 'refs/heads/main', further);
    expect(await integration().settle(move)).toEqual({ moved: true, notes: [] });
    expect([tip(), repo.read('changed.txt')]).toEqual([further, 'changed.txt\n']);
  });
});

test('says where a branch is checked out, and that there is none of a name', async () => {
  const elsewhere = join(repo.folder, 'else where');
  repo.git('worktree', 'add', '-q', elsewhere, 'work');
  expect(await integration().target(repo.root, 'main')).toEqual({
    commit: move.from,
    checkedOutAt: [repo.root],
  });
  expect((await integration().target(repo.root, 'work')).checkedOutAt).toEqual([elsewhere]);
  for (const name of ['none', 'main^', 'main@{0}', '../heads/main', ''])
    await expect(integration().target(repo.root, name)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('lists the branches of runs, and which are merged', async () => {
  repo.git('branch', 'squad/a/run_1', move.from);
  repo.git('branch', 'squad/b/run_2', move.to);
  expect(await integration().tips(repo.root, 'main')).toEqual(
    new Map([
      ['squad/a/run_1', { tip: move.from, isMerged: true }],
      ['squad/b/run_2', { tip: move.to, isMerged: false }],
    ]),
  );
});
