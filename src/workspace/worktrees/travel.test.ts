import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { WorktreeFixture } from '../testing/worktree-fixture.ts';
import { createBranches } from './run-branch.ts';
import { createCodeTravel } from './travel.ts';

let fixture: WorktreeFixture;
let worktree: Worktree;
let box: string;
let ref: string;
let tip: string;

/** A box that got the work tree. */
beforeEach(async () => {
  fixture = new WorktreeFixture();
  worktree = await fixture.made();
  ({ ref } = travel().names(worktree));
  const packed = await travel().pack(worktree, []);
  tip = packed.tip;
  box = join(fixture.repo.folder, 'box');
  execFileSync('git', ['init', '-q', box], { env: fixture.repo.env });
  git('fetch', '-q', packed.bundle!, `${ref}:${ref}`);
  git('checkout', '-q', '--detach', packed.work);
  await packed.done();
});
afterEach(() => fixture.remove());

const travel = () => createCodeTravel(createBranches({ env: fixture.repo.env }), { env: fixture.repo.env });
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Box', '-c', 'user.email=box@example.com', ...args], {
    cwd: box,
    encoding: 'utf8',
    env: fixture.repo.env,
  }).trim();

/** A commit on the box, and its bundle. */
function bundled(content = 'theirs\n', ...more: string[]) {
  writeFileSync(join(box, 'theirs.txt'), content);
  git('add', '-A');
  git('commit', '-qm', 'Theirs');
  const work = git('rev-parse', 'HEAD');
  git('update-ref', ref, work);
  const bundle = join(fixture.repo.folder, 'bundle');
  git('bundle', 'create', '-q', bundle, ref, ...more, `^${tip}`);
  return { tip: work, work, bundle };
}

const unchanged = () => {
  expect(fixture.repo.git('rev-parse', worktree.branch).trim()).toBe(tip);
  expect(statSync(join(worktree.path, 'theirs.txt'), { throwIfNoEntry: false })).toBeUndefined();
};

test('work on a box comes back to the branch and the folder', { tags: ['H3'] }, async () => {
  const came = bundled();
  expect(await travel().unpack(worktree, came)).toBeNull();
  expect(fixture.repo.git('rev-parse', worktree.branch).trim()).toBe(came.tip);
  expect(readFileSync(join(worktree.path, 'theirs.txt'), 'utf8')).toBe('theirs\n');
});

test.each([
  ['cut', (bundle: string) => truncateSync(bundle, statSync(bundle).size - 40)],
  ['cut in its head', (bundle: string) => truncateSync(bundle, 20)],
  ['empty', (bundle: string) => truncateSync(bundle, 0)],
  [
    'damaged',
    (bundle: string) => {
      const bytes = readFileSync(bundle);
      bytes[bytes.length - 30]! ^= 0xff;
      writeFileSync(bundle, bytes);
    },
  ],
  ['no bundle', (bundle: string) => writeFileSync(bundle, 'ref: refs/heads/main\n')],
])(
  'a bundle that is %s is refused, and nothing changes here',
  { tags: ['hostile-box'] },
  async (_, spoil) => {
    const came = bundled();
    spoil(came.bundle);
    await expect(travel().unpack(worktree, came)).rejects.toMatchObject({ code: 'GIT_FAILED' });
    unchanged();
  },
);

test('a bundle brings only the ref of its own work tree', { tags: ['hostile-box'] }, async () => {
  git('update-ref', 'refs/heads/main', tip);
  git('update-ref', 'refs/heads/evil', git('commit-tree', '-m', 'Evil', '-p', tip, `${tip}^{tree}`));
  const before = fixture.repo.git('for-each-ref', 'refs/heads').split('\n').length;
  await travel().unpack(worktree, bundled('theirs\n', 'refs/heads/evil'));
  expect(fixture.repo.git('for-each-ref')).not.toContain('evil');
  expect(fixture.repo.git('for-each-ref', 'refs/heads').split('\n')).toHaveLength(before);
});

test.each([
  ['commits that it does not have', { tip: 'f'.repeat(40) }],
  ['a tip that is not below its work', { tip: 'other' }],
])('a bundle for %s is refused', { tags: ['hostile-box'] }, async (_, { tip: named }) => {
  const came = bundled();
  const other = fixture.repo.git('commit-tree', '-m', 'Other', `${tip}^{tree}`).trim();
  await expect(
    travel().unpack(worktree, { ...came, tip: named === 'other' ? other : named }),
  ).rejects.toMatchObject({ code: 'GIT_FAILED', message: expect.stringContaining('not in it') });
  unchanged();
});

test('objects that git would not accept are refused', { tags: ['hostile-box'] }, async () => {
  const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], {
    cwd: box,
    input: 'x',
    encoding: 'utf8',
    env: fixture.repo.env,
  }).trim();
  const tree = execFileSync('git', ['mktree'], {
    cwd: box,
    input: `100644 blob ${blob}\t.git\n`,
    encoding: 'utf8',
    env: fixture.repo.env,
  }).trim();
  const work = git('commit-tree', '-m', 'Evil', '-p', tip, tree);
  git('update-ref', ref, work);
  const bundle = join(fixture.repo.folder, 'bundle');
  git('bundle', 'create', '-q', bundle, ref, `^${tip}`);
  await expect(travel().unpack(worktree, { tip: work, work, bundle })).rejects.toMatchObject({
    code: 'GIT_FAILED',
  });
  unchanged();
});
