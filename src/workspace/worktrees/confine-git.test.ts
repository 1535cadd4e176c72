import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Worktree } from '../../schema/worktree.ts';
import { agentGitOf } from '../git/git-folder.ts';
import { SandboxFixture } from '../testing/sandboxed-git.ts';
import { runId } from '../testing/worktree-fixture.ts';
import { AgentGit } from './agent-git.ts';
import { createWorktrees } from './worktrees.ts';

let fixture: SandboxFixture;
afterEach(() => fixture.remove());

/** A sandboxed agent commits, in this checkout of a repository, and the commit arrives in it. */
async function commits(checkout: string, more = ''): Promise<Worktree> {
  const ask = { runId: runId(7), name: 'coder', directory: checkout, workspace: checkout };
  const { worktree } = await fixture.worktrees.plan(ask);
  await fixture.worktrees.ensure(worktree, null);
  fixture.worktree = worktree;
  await fixture.confine();
  fixture.sh(`${more}\necho new > new.txt; git add new.txt; git commit -qm New`);
  expect(fixture.sh('git log -1 --format=%s; git status --porcelain')).toBe('New\n');
  expect(await fixture.collect()).toMatchObject({ commits: 1, note: null });
  expect(git(checkout, 'log', '-1', '--format=%s', worktree.branch)).toBe('New\n');
  expect(git(worktree.path, 'status', '--porcelain')).toBe('');
  expect(git(checkout, 'fsck', '--connectivity-only')).not.toMatch(/missing|broken/);
  return worktree;
}

const git = (folder: string, ...args: string[]): string => fixture.repo.git('-C', folder, ...args);
const sibling = (name: string): string => join(fixture.repo.folder, name);

test("nothing of the repository is writable, and the user's checkout is not there", async () => {
  fixture = new SandboxFixture();
  fixture.repo.write('secret.txt', 'not committed');
  await fixture.confine();
  const { root } = fixture.repo;
  const main = fixture.tip('main');
  const refused = (script: string) => expect(() => fixture.sh(script), script).toThrow();
  refused(`cat "${root}/secret.txt"`);
  refused(`echo x > "${root}/.git/hooks/pre-commit"`);
  refused(`rm -rf "${root}/.git/shared-objects-0/"*`);
  refused('echo x > .git');
  refused('mv .git x');
  refused(`mv "${root}/.git/objects" "${root}/.git/x"`);
  fixture.sh(
    `git update-ref refs/heads/main $(git commit-tree -m Evil HEAD^{tree}); git config core.pager evil`,
  );
  await fixture.collect();
  expect(fixture.tip('main')).toBe(main);
  expect(fixture.repo.git('config', '--list')).not.toContain('evil');
});

test('a read-only run reads Git, and cannot change it', async () => {
  fixture = new SandboxFixture();
  await fixture.confine('read');
  expect(fixture.sh('git log --format=%s; git status --porcelain; git diff')).toBe('First\n');
  expect(() => fixture.sh('echo x > x.txt')).toThrow(/[Rr]ead-only/);
  expect(() => fixture.sh('git commit -q --allow-empty -m No')).toThrow();
  expect(await fixture.collect()).toEqual({ commits: 0, note: null });
});

test('the configuration has no credentials, and what commits need', async () => {
  fixture = new SandboxFixture();
  const { repo } = fixture;
  const set = (key: string, value: string) => repo.git('config', '--add', key, value);
  set('remote.origin.url', 'https://user:secret1@example.com/x.git?token=secret2');
  set('remote.ssh.url', 'ssh://git:secret3@example.com/x.git');
  set('remote.scp.url', 'git@example.com:x.git');
  set('http.extraheader', 'Authorization: secret4');
  set('http.https://example.com/.extraheader', 'secret5');
  set('credential.helper', '!echo secret6');
  set('url.https://secret7@example.com/.insteadOf', 'gh:');
  set('core.sshCommand', 'ssh -i secret8');
  set('filter.up.clean', 'tr a-z A-Z');
  writeFileSync(join(repo.env.HOME, '.gitconfig'), '[include]\n\tpath = more\n[user]\n\tname = Ada\n');
  writeFileSync(
    join(repo.env.HOME, 'more'),
    '[user]\n\temail = ada@example.com\n[github]\n\ttoken = secret9\n',
  );
  mkdirSync(join(repo.env.HOME, '.config/git'), { recursive: true });
  writeFileSync(join(repo.env.HOME, '.config/git/ignore'), '*.swp\n');
  repo.write('.git/info/attributes', '*.up filter=up\n');
  await fixture.confine();
  expect(fixture.sh('grep -r secret "$(git rev-parse --git-common-dir)" || true')).toBe('');
  const urls = fixture.sh('git config --get-regexp "remote.*url"');
  expect(urls).toBe(
    'remote.origin.url https://example.com/x.git\nremote.ssh.url ssh://git@example.com/x.git\nremote.scp.url git@example.com:x.git\n',
  );
  fixture.sh('echo low > x.up; echo > x.swp; git add -A; git commit -qm One');
  expect(fixture.sh('git show --format="%an %ae" --name-only; git show :x.up')).toBe(
    'Ada ada@example.com\n\nx.up\nLOW\n',
  );
});

test('hooks of the repository run inside, and cannot be changed', async () => {
  fixture = new SandboxFixture();
  fixture.repo.write('.git/hooks/pre-commit', '#!/bin/sh\necho checked > checked.txt\n');
  chmodSync(fixture.repo.path('.git/hooks/pre-commit'), 0o755);
  await fixture.confine();
  fixture.sh('git commit -q --allow-empty -m One');
  expect(readFileSync(join(fixture.worktree.path, 'checked.txt'), 'utf8')).toBe('checked\n');
});

test('hooks that the configuration names inside the checkout are those of the work tree', async () => {
  fixture = new SandboxFixture();
  fixture.repo.write('.husky/pre-commit', '#!/bin/sh\necho husky > checked.txt\n');
  chmodSync(fixture.repo.path('.husky/pre-commit'), 0o755);
  fixture.repo.commit('Hooks');
  fixture.repo.git('config', 'core.hooksPath', fixture.repo.path('.husky'));
  await fixture.confine();
  fixture.sh('git commit -q --allow-empty -m One');
  expect(readFileSync(join(fixture.worktree.path, 'checked.txt'), 'utf8')).toBe('husky\n');
});

test('works with packed refs and objects, tags, and in a subfolder', async () => {
  fixture = new SandboxFixture();
  fixture.repo.git('tag', '-a', 'v1', '-m', 'One');
  fixture.repo.git('gc', '-q');
  const worktree = await commits(fixture.repo.root, 'cd app; git describe | grep -q v1');
  expect(fixture.sh('git rev-parse --show-prefix', join(worktree.path, 'app'))).toBe('app/\n');
});

test('works with a bare repository', async () => {
  fixture = new SandboxFixture();
  git(fixture.repo.folder, 'clone', '-q', '--bare', fixture.repo.root, 'bare.git');
  git(sibling('bare.git'), 'worktree', 'add', '-q', sibling('checkout'));
  await commits(sibling('checkout'));
});

test('works with a shallow clone, and with spaces and a link in the path', async () => {
  fixture = new SandboxFixture();
  fixture.repo.commit('Second');
  git(fixture.repo.folder, 'clone', '-q', '--depth=1', `file://${fixture.repo.root}`, 'shallow clone');
  symlinkSync(sibling('shallow clone'), sibling('link'));
  await commits(sibling('link'));
  expect(fixture.sh('git log --format=%s')).toBe('New\nSecond\n');
});

test('works with borrowed objects, also over two repositories', async () => {
  fixture = new SandboxFixture();
  git(fixture.repo.folder, 'clone', '-q', '--shared', fixture.repo.root, 'second');
  fixture.repo.git('-C', sibling('second'), 'commit', '-q', '--allow-empty', '-m', 'Second');
  git(fixture.repo.folder, 'clone', '-q', '--shared', sibling('second'), 'third');
  writeFileSync(join(sibling('third'), '.git/objects/info/alternates'), '../../../second/.git/objects\n');
  await commits(sibling('third'));
  expect(fixture.sh('git log --format=%s 2>&1; git fsck 2>&1')).toMatch(/^New\nSecond\nFirst\n/);
});

test('works with sha256', async () => {
  fixture = new SandboxFixture();
  git(fixture.repo.folder, 'init', '-q', '--object-format=sha256', 'sha256');
  git(sibling('sha256'), 'commit', '-q', '--allow-empty', '-m', 'First');
  await commits(sibling('sha256'));
});

test('works with a partial clone', async () => {
  fixture = new SandboxFixture();
  fixture.repo.git('config', 'uploadpack.allowFilter', 'true');
  fixture.repo.git('rm', '-q', 'a.txt');
  fixture.repo.commit('Second');
  git(fixture.repo.folder, 'clone', '-q', '--filter=blob:none', `file://${fixture.repo.root}`, 'partial');
  await commits(sibling('partial'));
});

test('works with a sparse checkout that is configured per work tree', async () => {
  fixture = new SandboxFixture();
  fixture.repo.git('sparse-checkout', 'set', '--cone', 'app');
  fixture.repo.write('.git/info/exclude', 'x\n');
  const { root } = fixture.repo;
  fixture.repo.write('app/new/deep.txt', 'x');
  fixture.repo.write('other/file.txt', 'other');
  fixture.repo.git('add', '--sparse', '.');
  fixture.repo.commit('More');
  const worktree = await commits(root);
  expect(existsSync(join(worktree.path, 'app/b.txt'))).toBe(true);
  fixture.sh(
    'git commit -q --allow-empty -m Again; git sparse-checkout disable; git sparse-checkout set app',
  );
  await fixture.collect();
  expect(git(worktree.path, 'status', '--porcelain')).toBe('');
});

test('works in a submodule, and with submodules', async () => {
  fixture = new SandboxFixture();
  const allowed = ['-c', 'protocol.file.allow=always'];
  fixture.repo.git('clone', '-q', '.', sibling('library'));
  fixture.repo.git(...allowed, 'submodule', '--quiet', 'add', sibling('library'), 'lib');
  fixture.repo.commit('Submodule');
  await commits(fixture.repo.path('lib'));
  const { worktree } = await fixture.plan({ runId: runId(8) });
  await fixture.worktrees.ensure(worktree, null);
  git(worktree.path, ...allowed, 'submodule', '--quiet', 'update', '--init');
  fixture.worktree = worktree;
  await fixture.confine();
  fixture.sh(
    'cd lib; git -c user.name=A -c user.email=a@a commit -q --allow-empty -m Inner; cd ..; git add lib; git commit -qm Outer',
  );
  expect(await fixture.collect()).toEqual({ commits: 1, note: null });
  expect(git(worktree.path, 'status', '--porcelain')).toBe('');
  expect(git(join(worktree.path, 'lib'), 'log', '-1', '--format=%s')).toBe('Inner\n');
});

test('refuses refs that are stored in another format', async () => {
  fixture = new SandboxFixture();
  fixture.worktree = await fixture.made();
  fixture.repo.git('config', 'core.repositoryformatversion', '1');
  fixture.repo.append('.git/config', '[extensions]\n\trefstorage = reftable\n');
  await expect(fixture.confine()).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringContaining('reftable'),
  });
});

test('branches of the repository are as they are at the start of the turn; those of the agent stay', async () => {
  fixture = new SandboxFixture();
  fixture.repo.git('branch', 'gone');
  await fixture.confine();
  fixture.sh('git branch mine; git branch -f main; git pack-refs --all');
  fixture.repo.git('branch', '-D', '-q', 'gone');
  fixture.repo.git('branch', 'fresh');
  fixture.repo.commit('Second');
  await fixture.confine();
  expect(fixture.sh("git for-each-ref --format='%(refname:short) %(contents:subject)' refs/heads")).toBe(
    `fresh First\nmain Second\nmine First\n${fixture.branch} First\n`,
  );
});

test('a folder of agents belongs to no stray work tree', async () => {
  fixture = new SandboxFixture();
  await fixture.confine();
  expect(await fixture.worktrees.strays([fixture.worktree])).toEqual([]);
  const other = createWorktrees({ folder: fixture.folder, env: fixture.repo.env });
  expect(await other.collect(fixture.worktree)).toEqual({ commits: 0, note: null });
});

test('closed, deep and linked folders in its Git folder keep no commit back, and no next turn', {
  tags: ['symlinks-and-races'],
}, async () => {
  fixture = new SandboxFixture();
  await fixture.confine();
  const deep = 'a/'.repeat(1500);
  fixture.sh(`echo x > x.txt; git add x.txt; git commit -qm X
    cd "$(git rev-parse --git-common-dir)"
    mkdir logs/closed refs/closed; touch logs/closed/x refs/closed/x logs/none
    chmod 444 logs/closed refs/closed; chmod 000 logs/none
    cd logs; mkdir -p ${deep}; cd ${deep}; mkdir -p ${deep}`);
  expect(await fixture.collect()).toMatchObject({ commits: 1 });
  await fixture.confine();
  expect(fixture.sh('git log -1 --format=%s; git status --porcelain')).toBe('X\n');
  const folder = agentGitOf(fixture.worktree.path);
  expect(readdirSync(folder)).not.toContain('git.old');
  const common = fixture.sh('git rev-parse --git-common-dir').trim();
  fixture.sh(`cd "${common}"; mv worktrees moved; ln -s "${join(folder, 'git', 'moved')}" worktrees`);
  const agent = new AgentGit(fixture.worktree.path);
  expect(agent.index((await agent.state())!, 1024 ** 2)).toBeNull();
});

test('files that an agent piles up in its Git folder are copied up to a limit for its next turn', {
  tags: ['symlinks-and-races'],
}, async () => {
  fixture = new SandboxFixture();
  await fixture.confine();
  fixture.sh(`echo x > x.txt; git add x.txt; git commit -qm X
    mkdir "$(git rev-parse --git-dir)/pile"; cd "$(git rev-parse --git-dir)/pile"
    seq 11000 | xargs touch; truncate -s 300M large`);
  await fixture.collect();
  await fixture.confine();
  const pile = fixture
    .sh('cd "$(git rev-parse --git-dir)/pile"; ls | wc -l; du -b -s . | cut -f1')
    .split('\n');
  expect(Number(pile[0])).toBeLessThanOrEqual(10_000);
  expect(Number(pile[1])).toBeLessThan(300 * 1024 ** 2);
  expect(fixture.sh('git log -1 --format=%s; git status --porcelain')).toBe('X\n');
});
