import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { runId, WorktreeFixture } from '../testing/worktree-fixture.ts';

let fixture: WorktreeFixture;
beforeEach(() => {
  fixture = new WorktreeFixture();
});
afterEach(() => fixture.remove());

const gitDirOf = ({ path }: Worktree) =>
  readFileSync(join(path, '.git'), 'utf8').slice('gitdir: '.length).trim();

test('links in the place of its marks are replaced, not written through', async () => {
  const { repo, worktrees } = fixture;
  repo.write('.env', 'x');
  const worktree = await fixture.made();
  const theirs = join(repo.folder, 'theirs');
  writeFileSync(theirs, 'theirs');
  for (const name of ['squad-copied', 'squad-set-up', 'squad-making'])
    symlinkSync(theirs, join(gitDirOf(worktree), name));
  await worktrees.ensure(worktree, fixture.setup({ copy: ['.env'] }));
  expect(readFileSync(theirs, 'utf8')).toBe('theirs');
  expect(readFileSync(join(gitDirOf(worktree), 'squad-copied'), 'utf8')).toBe('.env\0');
});

describe('a workspace that the commit has made a link that leads out of the work tree', () => {
  const outside = () => join(fixture.repo.folder, 'outside');
  const linkIn = (root: string) => {
    rmSync(join(root, 'app'), { recursive: true });
    symlinkSync(outside(), join(root, 'app'));
  };
  const setup = () =>
    fixture.setup({ copy: ['.env'], setup: ['touch', 'ran'], source: fixture.repo.path('app') });
  const refusal = { code: 'REPOSITORY_UNSUITABLE', message: expect.stringContaining('leads out') };
  beforeEach(() => {
    mkdirSync(outside());
    fixture.repo.write('app/.env', 'x');
  });

  test('gets nothing copied into it, and runs nothing, when it is made', async () => {
    const { repo, worktrees } = fixture;
    const { worktree } = await fixture.plan({ runId: runId(2), workspace: repo.path('app') });
    const other = await fixture.made();
    linkIn(other.path);
    repo.git('-C', other.path, 'add', '-A');
    repo.git('-C', other.path, 'commit', '-q', '-m', 'Link');
    const base = repo.git('-C', other.path, 'rev-parse', 'HEAD').trim();
    await expect(worktrees.ensure({ ...worktree, base }, setup())).rejects.toMatchObject(refusal);
    expect(readdirSync(outside())).toEqual([]);
  });

  test('nor when the work tree is set up later', async () => {
    const worktree = await fixture.made({ workspace: fixture.repo.path('app') });
    linkIn(worktree.path);
    await expect(fixture.worktrees.ensure(worktree, setup())).rejects.toMatchObject(refusal);
    expect(readdirSync(outside())).toEqual([]);
  });
});

describe('git does not wait on a pipe in the place of', () => {
  const pipe = (path: string) => {
    rmSync(path, { force: true });
    execFileSync('mkfifo', [path]);
  };

  test('.gitmodules in the checkout', async () => {
    pipe(fixture.repo.path('.gitmodules'));
    expect((await fixture.plan()).notes).toEqual([]);
  });

  test('the list of what was copied', async () => {
    const worktree = await fixture.made();
    pipe(join(gitDirOf(worktree), 'squad-copied'));
    expect(await fixture.worktrees.state(worktree)).toMatchObject({ uncommitted: 0, error: null });
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
      outcome: 'removed',
    });
  });

  test.each(['index', 'locked'])('%s', async name => {
    const worktree = await fixture.made();
    pipe(join(gitDirOf(worktree), name));
    expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toEqual({
      outcome: 'kept',
      why: expect.stringContaining(name),
    });
  });
});
