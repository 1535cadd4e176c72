import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { agentGitOf } from '../git/git-folder.ts';
import { SandboxFixture } from '../testing/sandboxed-git.ts';

let fixture: SandboxFixture;
afterEach(() => fixture.remove());

const PROGRAM = join(import.meta.dirname, '../testing/collect-and-die.ts');

test.each(['stage', 'pack', 'install', 'index', 'move', 'moved'])(
  'a hub that is killed at "%s" loses nothing: the next one collects the rest',
  async step => {
    fixture = new SandboxFixture();
    await fixture.confine();
    fixture.sh(
      'for i in $(seq 120); do echo $i > f$i; done; git add -A; git commit -qm One; echo s > s.txt; git add s.txt; git branch side; git commit -q --allow-empty -m Two',
    );
    const { status, signal, stderr } = spawnSync(process.execPath, [PROGRAM, fixture.worktree.path, step], {
      env: fixture.repo.env,
      encoding: 'utf8',
    });
    expect({ status, signal, stderr }).toEqual({ status: null, signal: 'SIGKILL', stderr: '' });
    // Whatever was done by then is complete.
    fixture.repo.git('rev-list', '--objects', '--quiet', '--all');
    // And the agent goes on from there.
    fixture.sh('git commit -q --amend --allow-empty -m Three');
    const { note } = await fixture.collect();
    expect(note).toBe(null);
    expect(fixture.subjects()).toEqual(['Three', 'One', 'First']);
    expect(fixture.outside('status', '--porcelain', '-b')).toBe(`## ${fixture.branch}\n`);
    expect(fixture.repo.git('fsck', '--strict')).not.toMatch(/missing|broken/);
    expect(
      readdirSync(join(agentGitOf(fixture.worktree.path), 'staging')).filter(name => name !== 'objects'),
    ).toEqual([]);
  },
);

test('a hub that is killed while it renews the folder leaves the old one or the new one', async () => {
  fixture = new SandboxFixture();
  await fixture.confine();
  fixture.sh('git commit -q --allow-empty -m One');
  const folder = agentGitOf(fixture.worktree.path);
  renameSync(join(folder, 'git'), join(folder, 'git.old'));
  expect(await fixture.collect()).toEqual({ commits: 1, note: null });
  expect(existsSync(join(folder, 'git'))).toBe(true);
  await fixture.confine();
  expect(fixture.sh('git log --format=%s')).toBe('One\nFirst\n');
});
