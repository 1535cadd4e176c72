import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../process/testing/turn-fixture.ts';
import { BranchFixture, FEEDBACK } from '../testing/branch-fixture.ts';

let at: BranchFixture;
beforeEach(() => {
  at = new BranchFixture();
});
afterEach(() => at.remove());

const prepare = (text: string | null) =>
  at.branches.prepareFile(at.worktree, { path: FEEDBACK, text }, 'Feedback');

describe('a single file on the branch', () => {
  test('is there, and everything else is as it was', async () => {
    at.write('a.txt', 'staged\n');
    at.git('add', 'a.txt');
    at.write('a.txt', 'and changed\n');
    at.write('new.txt', 'new\n');
    const commit = await at.feedback('Better\n');
    expect(at.tip()).toBe(commit);
    expect(at.read(FEEDBACK)).toBe('Better\n');
    expect(at.status()).toBe('MM a.txt\n?? new.txt\n');
    expect(at.git('diff', '--name-only', at.base, commit!)).toBe(`${FEEDBACK}\n`);
    expect(at.git('show', ':a.txt')).toBe('staged\n');
    await at.feedback('Still better\n');
    expect(at.read(FEEDBACK)).toBe('Still better\n');
    expect(at.status()).toBe('MM a.txt\n?? new.txt\n');
  });

  test('is taken away, and is nothing to do where it is not', async () => {
    expect(await at.feedback(null)).toBeNull();
    await at.feedback('Better\n');
    await at.feedback(null, 'Without');
    expect(existsSync(join(at.root, FEEDBACK))).toBe(false);
    expect(at.status()).toBe('');
    expect(at.files(at.branch)).not.toContain(FEEDBACK);
  });

  test('the same text again is a commit again', async () => {
    await at.feedback('Better\n', 'One');
    await at.feedback('Better\n', 'Two');
    expect(at.subjects()).toEqual(['Two', 'One', 'First']);
  });

  test.each([
    ['written', false],
    ['staged', true],
  ])('the uncommitted change of the agent (%s) is a commit before it', async (_, isStaged) => {
    at.write(FEEDBACK, 'My notes\n');
    if (isStaged) at.git('add', FEEDBACK);
    const commit = (await at.feedback('Better\n'))!;
    expect(at.subjects()).toEqual(['Feedback', `${FEEDBACK} as it was, kept before it is replaced`, 'First']);
    expect(at.shown(FEEDBACK, `${commit}^`)).toBe('My notes\n');
    expect(at.read(FEEDBACK)).toBe('Better\n');
    expect(at.status()).toBe('');
  });

  test('a file that was only staged, and is gone from the folder, is kept too', async () => {
    at.write(FEEDBACK, 'My notes\n');
    at.git('add', FEEDBACK);
    rmSync(join(at.root, FEEDBACK));
    const commit = (await at.feedback('Better\n'))!;
    expect(at.shown(FEEDBACK, `${commit}^`)).toBe('My notes\n');
    expect(at.status()).toBe('');
  });

  test('a link to elsewhere is replaced, never followed', async () => {
    const outside = join(at.repo.folder, 'outside');
    writeFileSync(outside, 'precious\n');
    symlinkSync(outside, join(at.root, FEEDBACK));
    const commit = (await at.feedback('Better\n'))!;
    expect(readFileSync(outside, 'utf8')).toBe('precious\n');
    expect(at.isLink(FEEDBACK)).toBe(false);
    expect(at.git('ls-tree', `${commit}^`, FEEDBACK)).toMatch(/^120000 /);
    expect(at.shown(FEEDBACK, `${commit}^`)).toBe(outside);
    expect(at.git('ls-tree', commit, FEEDBACK)).toMatch(/^100644 /);
    expect(at.status()).toBe('');
  });

  test('a pipe or an empty folder in its place gives way', async () => {
    execFileSync('mkfifo', [join(at.root, FEEDBACK)]);
    await at.feedback('One\n');
    expect(at.read(FEEDBACK)).toBe('One\n');
    rmSync(join(at.root, FEEDBACK));
    mkdirSync(join(at.root, FEEDBACK));
    await at.feedback('Two\n');
    expect(at.read(FEEDBACK)).toBe('Two\n');
    expect(at.status()).toBe('');
  });

  test('a folder with something in it does not', async () => {
    at.write(`${FEEDBACK}/x`, 'x\n');
    await expect(prepare('Better\n')).rejects.toMatchObject({ code: 'FEEDBACK_FAILED' });
    at.git('add', '-A');
    at.git('commit', '-qm', 'A folder');
    rmSync(join(at.root, FEEDBACK), { recursive: true });
    await expect(prepare('Better\n')).rejects.toMatchObject({ code: 'FEEDBACK_FAILED' });
  });

  test('a way to it that leads out of the tree is not gone', async () => {
    const outside = join(at.repo.folder, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(at.root, 'docs'));
    const file = { path: `docs/${FEEDBACK}`, text: 'Better\n' };
    await expect(at.branches.prepareFile(at.worktree, file, 'x')).rejects.toMatchObject({
      code: 'FEEDBACK_FAILED',
    });
    expect(existsSync(join(outside, FEEDBACK))).toBe(false);
  });

  test('in conflict, it is settled, and other conflicts stay', async () => {
    at.repo.write('a.txt', 'theirs\n');
    at.repo.write(FEEDBACK, 'theirs\n');
    at.repo.commit('Theirs');
    at.write('a.txt', 'ours\n');
    at.write(FEEDBACK, 'ours\n');
    at.git('add', '-A');
    at.git('commit', '-qm', 'Ours');
    expect(() => at.git('merge', 'main')).toThrow();
    const commit = (await at.feedback('Better\n'))!;
    expect(at.shown(FEEDBACK, `${commit}^`)).toContain('<<<<<<<');
    expect(at.status()).toBe('UU a.txt\n');
    at.write('a.txt', 'both\n');
    at.git('add', 'a.txt');
    at.git('commit', '-qm', 'Merged');
    expect(at.shown(FEEDBACK)).toBe('Better\n');
  });

  test('line ends in the folder are those the attributes want', async () => {
    at.write('.gitattributes', '* text eol=crlf\n');
    await at.commitAll();
    await at.feedback('One\nTwo\n');
    expect(at.shown(FEEDBACK)).toBe('One\nTwo\n');
    expect(at.read(FEEDBACK)).toBe('One\r\nTwo\r\n');
    expect(at.status()).toBe('');
    await at.feedback('Three\n');
    expect(at.subjects().slice(0, 2)).toEqual(['Feedback', 'Feedback']);
  });

  test('reaches the branch when the folder is gone, or is on another branch', async () => {
    at.git('switch', '-qc', 'other');
    await at.feedback('One\n');
    expect(at.shown(FEEDBACK)).toBe('One\n');
    expect(at.status()).toBe('');
    expect(existsSync(join(at.root, FEEDBACK))).toBe(false);
    rmSync(at.root, { recursive: true });
    await at.feedback('Two\n');
    expect(at.shown(FEEDBACK)).toBe('Two\n');
    expect(await at.branches.tip(at.worktree)).toBe(at.tip());
    expect(at.repo.git('status', '--porcelain')).toBe('');
  });
});

describe('beside an agent', () => {
  test('a change of the agent between the two steps is not lost', async () => {
    const move = (await prepare('Better\n'))!;
    at.write(FEEDBACK, 'Just written\n');
    await expect(at.branches.apply(at.worktree, move, FEEDBACK)).rejects.toMatchObject({
      code: 'BRANCH_MOVED',
    });
    expect(at.tip()).toBe(at.base);
    expect(at.status()).toBe(`?? ${FEEDBACK}\n`);
    const commit = (await at.feedback('Better\n'))!;
    expect(at.shown(FEEDBACK, `${commit}^`)).toBe('Just written\n');
  });

  test('a file that cannot be put there leaves branch and index as they were', async () => {
    const move = (await at.branches.prepareFile(at.worktree, { path: 'sub/note', text: 'x\n' }, 'x'))!;
    rmSync(join(at.root, 'sub'), { recursive: true });
    at.write('sub', 'a file now\n');
    const index = at.git('ls-files', '-s');
    await expect(at.branches.apply(at.worktree, move, 'sub/note')).rejects.toThrow();
    expect(at.tip()).toBe(at.base);
    expect(at.git('ls-files', '-s')).toBe(index);
    expect(existsSync(join(at.gitDir, 'index.lock'))).toBe(false);
  });

  test('killed after the branch moved, the file comes with the next try', async () => {
    const move = (await prepare('Better\n'))!;
    await at.branches.apply(at.worktree, move, FEEDBACK);
    rmSync(join(at.root, FEEDBACK));
    await at.branches.apply(at.worktree, move, FEEDBACK);
    expect(at.status()).toBe('');
    at.write(FEEDBACK, 'Answered\n');
    await at.branches.apply(at.worktree, move, FEEDBACK);
    expect(at.read(FEEDBACK)).toBe('Answered\n');
    at.git('commit', '-qam', 'Answered');
    await at.branches.apply(at.worktree, move, FEEDBACK);
    expect(at.read(FEEDBACK)).toBe('Answered\n');
    expect(at.status()).toBe('');
  });

  test('killed before the branch moved, it is done again or taken back', async () => {
    const move = (await prepare('Better\n'))!;
    const staged = () =>
      at.git(
        'update-index',
        '--add',
        '--cacheinfo',
        `100644,${at.repo.git('rev-parse', `${move.to}:${FEEDBACK}`).trim()},${FEEDBACK}`,
      );
    staged();
    await at.branches.undo(at.worktree, move, FEEDBACK);
    expect(at.status()).toBe('');
    staged();
    writeFileSync(join(at.gitDir, 'index.lock'), `squad ${goneProcess()} 0123456789abcdef\n`);
    await at.branches.apply(at.worktree, move, FEEDBACK);
    expect(at.status()).toBe('');
    expect(at.tip()).toBe(move.to);
  });

  test('taken back, the agent has again what it had', async () => {
    at.write(FEEDBACK, 'My notes\n');
    chmodSync(join(at.root, FEEDBACK), 0o755);
    const move = (await prepare('Better\n'))!;
    await at.branches.apply(at.worktree, move, FEEDBACK);
    await at.branches.undo(at.worktree, move, FEEDBACK);
    expect(at.tip()).toBe(at.base);
    expect(at.read(FEEDBACK)).toBe('My notes\n');
    expect(at.status()).toBe(`?? ${FEEDBACK}\n`);
    rmSync(join(at.root, FEEDBACK));
    const second = (await prepare('Better\n'))!;
    await at.branches.apply(at.worktree, second, FEEDBACK);
    await at.branches.undo(at.worktree, second, FEEDBACK);
    expect(existsSync(join(at.root, FEEDBACK))).toBe(false);
    expect(at.status()).toBe('');
  });

  test('taken back, an answer that was begun stays', async () => {
    const move = (await prepare('Better\n'))!;
    await at.branches.apply(at.worktree, move, FEEDBACK);
    at.write(FEEDBACK, 'Better\n- done\n');
    await at.branches.undo(at.worktree, move, FEEDBACK);
    expect(at.tip()).toBe(at.base);
    expect(at.status()).toBe(`?? ${FEEDBACK}\n`);
    expect(at.read(FEEDBACK)).toBe('Better\n- done\n');
  });

  test("waits for the agent's git to let go of the index, and keeps what that put into it", async () => {
    const lock = join(at.gitDir, 'index.lock');
    const index = join(at.gitDir, 'index');
    const move = (await prepare('Better\n'))!;
    at.write('staged.txt', 'staged\n');
    copyFileSync(index, `${index}.before`);
    at.git('add', 'staged.txt');
    renameSync(index, `${index}.after`);
    renameSync(`${index}.before`, index);
    writeFileSync(lock, '');
    const applied = at.branches.apply(at.worktree, move, FEEDBACK);
    const copies = () => readdirSync(at.gitDir).filter(name => name.startsWith('squad-index-'));
    await until(
      () => copies().some(name => has(join(at.gitDir, name, 'index'), FEEDBACK)),
      'the changed copy',
    );
    expect(at.tip()).toBe(at.base);
    renameSync(`${index}.after`, index);
    rmSync(lock);
    await applied;
    expect(at.tip()).toBe(move.to);
    expect(at.status()).toBe('A  staged.txt\n');
  });

  test('the index is there before the branch, so that no commit takes it back', async () => {
    const lock = join(at.repo.root, '.git/refs/heads', `${at.branch}.lock`);
    const move = (await prepare('Better\n'))!;
    writeFileSync(lock, '');
    const applied = at.branches.apply(at.worktree, move, FEEDBACK);
    await until(() => has(join(at.gitDir, 'index'), FEEDBACK), 'the index');
    expect(at.tip()).toBe(at.base);
    expect(() => at.git('commit', '-qm', 'Too early')).toThrow('index.lock');
    rmSync(lock);
    await applied;
    expect(at.status()).toBe('');
  });
});

/** Whether an index names a file. */
const has = (index: string, path: string): boolean => existsSync(index) && readFileSync(index).includes(path);

/** The number of a process that has ended. */
function goneProcess(): number {
  return Number(execFileSync('/bin/sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
}
