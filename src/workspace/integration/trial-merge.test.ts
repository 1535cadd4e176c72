import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TrialBranch } from '../../core/ports/integration.ts';
import { Repository } from '../testing/repository.ts';
import { createIntegration } from './integration.ts';

let repo: Repository;
beforeEach(() => {
  repo = new Repository();
  repo.write('a.txt', 'one\n');
  repo.write('with space/b c.txt', `${Array.from({ length: 20 }, (_, line) => line).join('\n')}\n`);
  repo.write('bin', Buffer.from([0, 1, 2]));
  repo.commit('First');
});
afterEach(() => repo.remove());

/** A branch from `main` with these files otherwise; null takes one away. */
function branch(name: string, files: Record<string, string | Buffer | null>): TrialBranch {
  repo.git('checkout', '-q', '-b', name, 'main');
  for (const [path, content] of Object.entries(files))
    if (content === null) repo.git('rm', '-q', path);
    else repo.write(path, content);
  const tip = repo.commit(`Work of ${name}`);
  repo.git('checkout', '-q', 'main');
  return { branch: name, tip, message: `about ${name}\n\nRun: x\n` };
}

const main = () => repo.git('rev-parse', 'main').trim();
const trial = (...branches: TrialBranch[]) =>
  createIntegration(repo.env).trial(repo.root, { commit: main(), branch: 'main' }, branches);
const at = (commit: string, path: string) => repo.git('show', `${commit}:${path}`);

test('merges one after another, each by a commit of its own, and touches neither branch nor folder', {
  tags: ['F6'],
}, async () => {
  const [x, y] = [
    branch('x', { 'x y.txt': 'x\n', 'with space/b c.txt': 'changed\n' }),
    branch('y', { 'a.txt': 'two\n' }),
  ];
  const before = [main(), repo.git('status', '--porcelain')];
  const { result, outcomes } = await trial(x, y);
  expect(outcomes).toEqual([
    { outcome: 'merged', commit: expect.stringMatching(/^[0-9a-f]{40}$/), files: 2 },
    { outcome: 'merged', commit: result, files: 1 },
  ]);
  expect([at(result, 'x y.txt'), at(result, 'a.txt')]).toEqual(['x\n', 'two\n']);
  expect(repo.git('log', '--format=%s', '--first-parent', result)).toBe(
    'Merge y: about y\nMerge x: about x\nFirst\n',
  );
  expect(repo.git('rev-parse', `${result}^2`).trim()).toBe(y.tip);
  expect([main(), repo.git('status', '--porcelain')]).toEqual(before);
});

test('the user is who merges; without a name Squad is', async () => {
  const x = branch('x', { 'x.txt': 'x\n' });
  const author = async () => repo.git('log', '-1', '--format=%an <%ae>', (await trial(x)).result).trim();
  expect(await author()).toBe('Squad <squad@localhost>');
  writeFileSync(
    join(repo.env.HOME, '.gitconfig'),
    '[user]\n\tname = Ann B\n\temail = a@b.example\n[core]\n\teditor = x\n',
  );
  expect(await author()).toBe('Ann B <a@b.example>');
  repo.git('config', 'user.email', 'here@b.example');
  expect(await author()).toBe('Ann B <here@b.example>');
});

describe('a branch in conflict is left out with its files, and the others go on', () => {
  const other = 'with space/b c.txt';
  const cases: Record<
    string,
    [Record<string, string | Buffer | null>, Record<string, string | Buffer | null>, string[], RegExp]
  > = {
    content: [{ 'a.txt': 'x\n' }, { 'a.txt': 'y\n' }, ['a.txt'], /Merge conflict in a\.txt/],
    'both added': [{ 'new file': 'x\n' }, { 'new file': 'y\n' }, ['new file'], /add\/add/],
    binary: [{ bin: Buffer.from([0, 5]) }, { bin: Buffer.from([0, 6]) }, ['bin'], /binary/],
    'renamed and deleted': [
      { [other]: null, moved: `${Array.from({ length: 20 }, (_, line) => line).join('\n')}\n` },
      { [other]: null },
      ['moved'],
      /renamed to moved in main, but deleted in y/,
    ],
    'changed and deleted': [{ 'a.txt': 'x\n' }, { 'a.txt': null }, ['a.txt'], /modify\/delete/],
  };
  test.each(Object.entries(cases))('%s', async (_, [ofX, ofY, files, message]) => {
    const [x, y, z] = [branch('x', ofX), branch('y', ofY), branch('z', { 'z.txt': 'z\n' })];
    const { result, outcomes } = await trial(x, y, z);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['merged', 'conflict', 'merged']);
    expect(outcomes[1]).toMatchObject({
      files,
      messages: expect.arrayContaining([expect.stringMatching(message)]),
    });
    expect(at(result, 'z.txt')).toBe('z\n');
  });
});

test('a branch that is merged, or never had commits, is not merged', async () => {
  const x = branch('x', { 'x.txt': 'x\n' });
  repo.git('merge', '-q', '--no-ff', '-m', 'In', 'x');
  const empty = { branch: 'empty', tip: main(), message: '' };
  const { result, outcomes } = await trial(x, empty);
  expect(outcomes).toEqual([{ outcome: 'nothing' }, { outcome: 'nothing' }]);
  expect(result).toBe(main());
});

test('feedback of reviewers does not come in, nor make two branches conflict', async () => {
  const [x, y] = ['x', 'y'].map(name =>
    branch(name, { [`${name}.txt`]: name, 'REVIEW_FEEDBACK.md': `for ${name}` }),
  );
  const { result, outcomes } = await trial(x!, y!);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['merged', 'merged']);
  expect(repo.git('ls-tree', '--name-only', result)).not.toContain('REVIEW_FEEDBACK.md');
  expect(repo.git('rev-parse', `${result}^2`).trim()).toBe(y!.tip);
});

test('a file of that name which was there before stays as it was', async () => {
  repo.write('REVIEW_FEEDBACK.md', 'ours\n');
  repo.commit('Has one');
  const { result } = await trial(branch('x', { 'x.txt': 'x', 'REVIEW_FEEDBACK.md': 'for x' }));
  expect(at(result, 'REVIEW_FEEDBACK.md')).toBe('ours\n');
});

test('a branch without a common commit cannot be merged, and the others go on', async () => {
  repo.git('checkout', '-q', '--orphan', 'alone');
  const tip = repo.commit('Alone');
  repo.git('checkout', '-q', 'main');
  const { outcomes } = await trial({ branch: 'alone', tip, message: '' }, branch('x', { 'x.txt': 'x' }));
  expect(outcomes).toMatchObject([
    { outcome: 'conflict', messages: [expect.stringContaining('in common')] },
    { outcome: 'merged' },
  ]);
});

test('a merge driver of the repository is not run: what it would merge is a conflict', {
  tags: ['programs-that-git-would-run'],
}, async () => {
  const mark = join(repo.folder, 'tripped');
  const script = join(repo.folder, 'driver.sh');
  writeFileSync(script, `#!/bin/sh\ntouch ${mark}\n`);
  chmodSync(script, 0o755);
  repo.git('config', 'merge.trap.driver', script);
  repo.write('.git/info/attributes', '* merge=trap\n');
  const { outcomes } = await trial(branch('x', { 'a.txt': 'x\n' }), branch('y', { 'a.txt': 'y\n' }));
  expect(outcomes[1]).toMatchObject({ outcome: 'conflict', files: ['a.txt'] });
  expect(existsSync(mark)).toBe(false);
});

test('a merge driver without a name is not run', { tags: ['programs-that-git-would-run'] }, async () => {
  const mark = join(repo.folder, 'tripped');
  repo.append('.git/config', `[merge ""]\n\tdriver = "touch ${mark}"\n`);
  repo.write('.git/info/attributes', '* merge=\n');
  const { outcomes } = await trial(branch('x', { 'a.txt': 'x\n' }), branch('y', { 'a.txt': 'y\n' }));
  expect(outcomes[1]).toMatchObject({ outcome: 'conflict', files: ['a.txt'] });
  expect(existsSync(mark)).toBe(false);
});

test('a git that is too old says so', async () => {
  const x = branch('x', { 'x.txt': 'x' });
  const old =
    '#!/bin/sh\ncase "$*" in *merge-tree*) echo "usage: git merge-tree <base-tree> <branch1> <branch2>" >&2; exit 129;; esac\nexec /usr/bin/env PATH="$REAL_PATH" git "$@"\n';
  writeFileSync(join(repo.folder, 'git'), old.replace('$REAL_PATH', repo.env.PATH ?? ''), { mode: 0o755 });
  const integration = createIntegration({ ...repo.env, PATH: `${repo.folder}:${repo.env.PATH}` });
  await expect(integration.trial(repo.root, { commit: main(), branch: 'main' }, [x])).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('2.38'),
  });
});

test('twenty branches', async () => {
  const branches = Array.from({ length: 20 }, (_, n) => branch(`b${n}`, { [`file ${n}`]: `${n}\n` }));
  const { result, outcomes } = await trial(...branches);
  expect(outcomes.every(({ outcome }) => outcome === 'merged')).toBe(true);
  expect(
    repo
      .git('ls-tree', '--name-only', result)
      .split('\n')
      .filter(name => name.startsWith('file ')),
  ).toHaveLength(20);
});
