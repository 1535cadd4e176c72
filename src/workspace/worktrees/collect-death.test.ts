import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
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

test('commits arrive on a file system without hard links, as many on a network are', {
  tags: ['I4'],
}, async () => {
  fixture = new SandboxFixture();
  await fixture.confine();
  fixture.sh(
    'echo x > x.txt; git add x.txt; git commit -qm One; ln -s /etc/passwd .git-link; git repack -q -a -d -l',
  );
  fixture.sh('echo y > y.txt; git add y.txt; git commit -qm Two');
  const filter = join(fixture.repo.folder, 'filter');
  writeFileSync(filter, refusing(HARD_LINKS[process.arch]!));
  const fd = openSync(filter, 'r');
  const argv = ['--dev-bind', '/', '/', '--seccomp', '3', '--', process.execPath, PROGRAM];
  const { status, stderr } = spawnSync('bwrap', [...argv, fixture.worktree.path, 'none'], {
    env: fixture.repo.env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', fd],
  });
  closeSync(fd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(fixture.subjects()).toEqual(['Two', 'One', 'First']);
  expect(fixture.repo.git('fsck', '--strict')).not.toMatch(/missing|broken/);
});

/** Numbers of link and linkat. */
const HARD_LINKS: Partial<Record<NodeJS.Architecture, number[]>> = { x64: [86, 265], arm64: [37] };

/** A seccomp filter with which these system calls fail with EPERM. */
function refusing(calls: number[]): Buffer {
  const program = [
    [0x20, 0, 0, 0],
    ...calls.flatMap(call => [
      [0x15, 0, 1, call],
      [0x06, 0, 0, 0x00050001],
    ]),
    [0x06, 0, 0, 0x7fff0000],
  ] as const;
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value, at * 8 + 4);
  }
  return bytes;
}

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
