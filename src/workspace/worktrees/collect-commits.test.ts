import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createWorkTree } from '../evidence/changes.ts';
import { agentGitOf } from '../git/git-folder.ts';
import { createIntegration } from '../integration/integration.ts';
import { SandboxFixture } from '../testing/sandboxed-git.ts';
import { runId } from '../testing/worktree-fixture.ts';
import { createBranches } from './run-branch.ts';

let fixture: SandboxFixture;
afterEach(() => fixture.remove());

async function confined(): Promise<SandboxFixture> {
  fixture = new SandboxFixture();
  await fixture.confine();
  return fixture;
}

const NOTHING = { commits: 0, note: null };
const agentGit = (...names: string[]) => join(agentGitOf(fixture.worktree.path), ...names);
const branches = () => createBranches({ env: fixture.repo.env });

test('a commit in the sandbox arrives on the branch, with index and folder in step', async () => {
  await confined();
  fixture.sh('echo new > new.txt; echo more >> a.txt; git add -A; git commit -qm One; echo x > loose.txt');
  expect(fixture.subjects()).toEqual(['First']);
  expect(await fixture.collect()).toEqual({ commits: 1, note: null });
  expect(fixture.subjects()).toEqual(['One', 'First']);
  expect(fixture.outside('status', '--porcelain', '-b')).toBe(`## ${fixture.branch}\n?? loose.txt\n`);
  expect(fixture.repo.git('fsck', '--strict')).not.toContain('missing');
  expect(await fixture.collect()).toEqual(NOTHING);
  expect(fixture.sh('git status --porcelain -b')).toBe(`## ${fixture.branch}\n?? loose.txt\n`);
});

test('many objects arrive as one pack', async () => {
  await confined();
  fixture.sh('for i in $(seq 150); do echo $i > f$i; done; git add -A; git commit -qm Many');
  expect(await fixture.collect()).toEqual({ commits: 1, note: null });
  expect(fixture.repo.git('count-objects', '-v')).toMatch(/packs: 1\n.*garbage: 0/s);
  expect(fixture.outside('status', '--porcelain')).toBe('');
});

test('staged changes, conflicts and a removed index entry are the same outside', async () => {
  await confined();
  fixture.sh('echo s > staged.txt; git add staged.txt; rm staged.txt; git rm -q --cached a.txt');
  await fixture.collect();
  expect(fixture.outside('status', '--porcelain')).toBe('D  a.txt\nAD staged.txt\n?? a.txt\n');
  expect(fixture.outside('show', ':staged.txt')).toBe('s\n');
  fixture.sh(
    'git reset -q --hard; echo mine > a.txt; git stash -q; echo other > a.txt; git commit -qam Other; git stash pop -q || true',
  );
  await fixture.collect();
  expect(fixture.outside('status', '--porcelain')).toBe('UU a.txt\n');
  await expect(branches().prepareAll(fixture.worktree, 'All')).rejects.toMatchObject({
    code: 'UNCOMMITTABLE',
    message: expect.stringContaining('conflicts'),
  });
});

test('a rewritten branch is taken over; nothing that was on it is lost with the work tree', async () => {
  await confined();
  fixture.sh('git commit -q --allow-empty -m One');
  await fixture.collect();
  const one = fixture.tip();
  fixture.sh(
    'git commit -q --amend --allow-empty -m Two; git commit -q --allow-empty -m Three; git reset -q --hard HEAD~',
  );
  expect(await fixture.collect()).toEqual({ commits: 1, note: null });
  expect(fixture.subjects()).toEqual(['Two', 'First']);
  const removal = await fixture.worktrees.remove(fixture.worktree, { dropEmptyBranch: true });
  expect(removal).toMatchObject({ outcome: 'removed' });
  expect(existsSync(agentGitOf(fixture.worktree.path))).toBe(false);
  const kept = fixture.repo.git('log', '--format=%s', ...fixture.saved());
  expect(kept).toContain('Three');
  expect(fixture.repo.git('log', '--format=%H', ...fixture.saved())).toContain(one);
});

test('commits on other branches, of a detached HEAD and in stashes are saved under a ref, with a note', async () => {
  await confined();
  fixture.sh(
    `git checkout -q -b side; git commit -q --allow-empty -m Side; git branch -f main HEAD
     git checkout -q --detach ${fixture.branch}; git commit -q --allow-empty -m Loose; git tag mine; git checkout -q ${fixture.branch}
     echo stashed >> a.txt; git stash -q; echo again >> a.txt; git stash -q; git update-ref refs/heads/-option side`,
  );
  const main = fixture.tip('main');
  const { commits, note } = await fixture.collect();
  expect(commits).toBe(0);
  expect(note).toMatch(/outside its branch .* saved: git log refs\/squad\/saved\/run_000000000001\./);
  expect(fixture.tip('main')).toBe(main);
  const [saved] = fixture.saved();
  const subjects = fixture.repo.git('log', '--format=%s', saved!);
  for (const each of ['Side', 'Loose', 'WIP on']) expect(subjects).toContain(each);
  expect(subjects.match(/^WIP on/gm)).toHaveLength(2);
  expect(await fixture.collect()).toEqual(NOTHING);
  expect(fixture.saved()).toEqual([saved]);
});

test('a work tree that is on another branch is shown and treated so', async () => {
  await confined();
  fixture.sh('git checkout -q -b side; echo x > x.txt; git add x.txt; git commit -qm Side');
  await fixture.collect();
  expect(fixture.subjects()).toEqual(['First']);
  expect(fixture.outside('status', '--porcelain', '-b')).toBe('## HEAD (no branch)\n');
  await expect(branches().prepareAll(fixture.worktree, 'All')).rejects.toMatchObject({
    code: 'UNCOMMITTABLE',
  });
  fixture.sh(`git checkout -q ${fixture.branch}`);
  await fixture.collect();
  expect(fixture.outside('status', '--porcelain', '-b')).toBe(`## ${fixture.branch}\n`);
});

test('a merge under way keeps the work from being committed', async () => {
  await confined();
  fixture.sh(
    'git checkout -q -b other; echo theirs > a.txt; git commit -qam T; git checkout -q -; echo ours > a.txt; git commit -qam O; git merge other || true',
  );
  await expect(branches().prepareAll(fixture.worktree, 'All')).rejects.toMatchObject({
    message: expect.stringContaining('a merge is under way'),
  });
  await fixture.confine();
  expect(fixture.sh('git status')).toContain('You have unmerged paths');
});

test('a reader of the branch gets its commits without asking for them', async () => {
  await confined();
  const { worktree, repo } = fixture;
  const evidence = createWorkTree(repo.env);
  const { snapshot } = await evidence.snapshot(worktree.path);
  const commit = (name: string) =>
    fixture.sh(`echo ${name} > ${name}.txt; git add -A; git commit -qm ${name}`);
  commit('one');
  const changes = await evidence.changes(worktree.path, snapshot!, { branch: worktree.branch });
  expect(changes).toMatchObject({
    commits: { count: 1 },
    files: [{ path: 'one.txt', status: 'A' }],
    notes: [],
  });
  commit('two');
  const diff = await evidence.diff(worktree.path, snapshot!, { maxBytes: 10_000 });
  expect(diff.text).toContain('+two');
  commit('three');
  expect(await branches().tip(worktree)).toBe(fixture.tip());
  expect(fixture.subjects()[0]).toBe('three');
  commit('four');
  const tips = await createIntegration(repo.env).tips(repo.root, 'main');
  expect(repo.git('log', '-1', '--format=%s', tips.get(worktree.branch)!.tip)).toBe('four\n');
  commit('five');
  expect(await createIntegration(repo.env).touched([worktree])).toMatchObject([
    { files: expect.arrayContaining(['five.txt']) },
  ]);
  commit('six');
  expect((await fixture.worktrees.state(worktree)).ahead).toBe(6);
  commit('seven');
  const fork = await fixture.plan({ from: worktree, runId: runId(2) });
  expect(repo.git('log', '-1', '--format=%s', fork.worktree.base)).toBe('seven\n');
  commit('eight');
  expect((await fixture.worktrees.remains(worktree)).tip).toBe(fixture.tip());
  expect(fixture.subjects()[0]).toBe('eight');
});

test('a commit of ours reaches the agent at its next turn; its stashes and logs stay', async () => {
  await confined();
  fixture.sh('echo s >> app/b.txt; git stash -q; git commit -q --allow-empty -m One; echo new > new.txt');
  const move = await branches().prepareAll(fixture.worktree, 'Uncommitted work');
  await branches().apply(fixture.worktree, move!);
  await fixture.confine();
  expect(
    fixture.sh('git log --format=%s; git status --porcelain; git stash list | wc -l; git reflog | wc -l'),
  ).toMatch(/^Uncommitted work\nOne\nFirst\n1\n2\n$/);
  fixture.sh('git stash pop -q; git commit -qam Two');
  await fixture.collect();
  expect(fixture.subjects()).toEqual(['Two', 'Uncommitted work', 'One', 'First']);
});

test('a branch that both sides moved keeps our commits; those of the agent are saved', async () => {
  await confined();
  const feedback = { path: 'REVIEW_FEEDBACK.md', text: 'Better!\n' };
  const move = await branches().prepareFile(fixture.worktree, feedback, 'Feedback');
  await branches().apply(fixture.worktree, move!, feedback.path);
  fixture.sh('echo mine > mine.txt; git add mine.txt; git commit -qm Mine');
  const { note } = await fixture.collect();
  expect(note).toMatch(/has moved to another commit .* saved: git log refs\/squad\/saved/);
  expect(fixture.subjects()).toEqual(['Feedback', 'First']);
  expect(fixture.subjects(fixture.saved()[0])).toEqual(['Mine', 'First']);
  expect(await fixture.collect()).toEqual(NOTHING);
  await fixture.confine();
  expect(fixture.sh('git log --format=%s; git status --porcelain')).toBe('Feedback\nFirst\n?? mine.txt\n');
});

test('two sandboxed runs in one work tree share it, and the second start leaves the first alone', async () => {
  await confined();
  fixture.sh('echo s > staged.txt; git add staged.txt; git checkout -q -b side; touch .git-lock-test');
  await fixture.confine('read', true);
  expect(fixture.sh('git status --porcelain -b')).toBe('## side\nA  staged.txt\n?? .git-lock-test\n');
  expect(() => fixture.sh('git commit -qm No')).toThrow(/[Rr]ead-only/);
});

test('commits made while the hub collects are complete or not there yet', async () => {
  await confined();
  const agent = fixture.start(
    'i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i > f; git add f; git commit -qm $i; [ $((i % 15)) = 0 ] && git gc -q; done',
  );
  const over = new Promise(resolve => agent.on('close', resolve));
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await fixture.collect();
    fixture.repo.git('rev-list', '--objects', '--quiet', fixture.branch);
  }
  expect(await over).toBe(0);
  await fixture.collect();
  expect(fixture.subjects()).toHaveLength(61);
  expect(fixture.outside('status', '--porcelain')).toBe('');
});

test('a lost work tree gets its commits back', async () => {
  await confined();
  fixture.sh('echo x > x.txt; git add x.txt; git commit -qm One');
  rmSync(fixture.worktree.path, { recursive: true });
  expect((await fixture.worktrees.remains(fixture.worktree)).tip).not.toBe(fixture.worktree.base);
  await fixture.worktrees.ensure(fixture.worktree, null);
  expect(fixture.subjects()).toEqual(['One', 'First']);
  expect(fixture.outside('status', '--porcelain')).toBe('');
  await fixture.confine();
  expect(fixture.sh('git log --format=%s')).toBe('One\nFirst\n');
});

test('a checkout by the user in the work tree is left alone', async () => {
  await confined();
  fixture.outside('switch', '-q', '-c', 'users');
  fixture.sh('echo x > x.txt; git add x.txt; git commit -qm One');
  await fixture.collect();
  expect(fixture.outside('status', '-b', '--porcelain')).toBe('## users\n?? x.txt\n');
  expect(fixture.subjects()).toEqual(['One', 'First']);
});

/** Attacks of an agent on its Git folder, and the outcome of a collection after a commit. */
const HOSTILE: Record<string, [script: string, outcome: 'collected' | RegExp]> = {
  'config that runs commands': [
    'git config core.fsmonitor "touch $PWD/ran"; git config core.hooksPath "$PWD/hooks"; git config filter.x.clean "touch $PWD/ran"; git config core.pager "touch $PWD/ran"',
    'collected',
  ],
  'alternates that lead elsewhere': ['echo /root > "$GIT/objects/info/alternates"', 'collected'],
  'a folder of objects that is a link': [
    'for d in "$GIT"/objects/??; do mv "$d" "$d.x"; ln -s "$d.x" "$d"; done',
    /is not complete/,
  ],
  'an object that is a link': [
    'f=$(ls -d "$GIT"/objects/??/* | head -1); mv "$f" "$GIT/x"; ln -s "$GIT/x" "$f"',
    /cannot be brought into the repository/,
  ],
  'an object that is a pipe': [
    'f=$(ls -d "$GIT"/objects/??/* | head -1); rm -f "$f"; mkfifo "$f"',
    /cannot be brought into the repository/,
  ],
  'a corrupt object': [
    'f=$(ls -d "$GIT"/objects/??/* | head -1); chmod u+w "$f"; echo broken > "$f"',
    /cannot be brought into the repository/,
  ],
  'a corrupt pack': [
    'git repack -q -a -d -l; chmod u+w "$GIT"/objects/pack/*.pack; printf broken | dd of=$(ls "$GIT"/objects/pack/*.pack) bs=1 seek=20 conv=notrunc 2>/dev/null',
    /cannot be brought into the repository/,
  ],
  'a ref that is a link': [
    'ln -sf /etc/passwd "$GIT/refs/heads/evil"; mkfifo "$GIT/refs/heads/pipe"',
    'collected',
  ],
  'a branch that is a symbolic ref': [
    `git update-ref -d refs/heads/main; echo 'ref: refs/heads/main' > "$GIT/refs/heads/$BRANCH"`,
    /removed its branch/,
  ],
  'a branch that names a blob': [`git hash-object -w a.txt > "$GIT/refs/heads/$BRANCH"`, /is not complete/],
  'an index that is a link': [
    'rm "$GIT/worktrees/$ID/index"; ln -s /etc/passwd "$GIT/worktrees/$ID/index"',
    'collected',
  ],
  'an index with odd paths': [
    `printf '100644 %s\\t%s\\n' $(git rev-parse HEAD:a.txt) x/../../../outside | git update-index --index-info || true
     sed -i 's/a\\.txt/..\\/xx/' "$GIT/worktrees/$ID/index"`,
    'collected',
  ],
  'a tree with a .git in it': [
    `t=$(printf '100644 blob %s\\t.git\\n' $(git rev-parse HEAD:a.txt) | git mktree); git reset -q --soft $(git commit-tree -p HEAD -m Evil $t)`,
    /cannot be brought into the repository/,
  ],
  'a tree that is too large': [
    `git update-ref refs/heads/big $(head -c 70000000 /dev/zero | git hash-object -t tree --literally -w --stdin) || true`,
    /too large/,
  ],
  'HEAD that leads elsewhere': [
    'echo "ref: ../../../../etc/passwd" > "$GIT/worktrees/$ID/HEAD"',
    'collected',
  ],
  'a submodule': [
    `git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm Sub`,
    'collected',
  ],
};

test.each(Object.entries(HOSTILE))(
  'survives %s',
  { tags: ['programs-that-git-would-run', 'symlinks-and-races'] },
  async (_, [script, outcome]) => {
    await confined();
    const { worktree, repo } = fixture;
    const id = 'run_000000000001';
    const main = fixture.tip('main');
    fixture.sh('echo x > x.txt; git add x.txt; git commit -qm One');
    fixture.sh(`GIT=$(git rev-parse --git-common-dir); ID=${id}; BRANCH=${worktree.branch}\n${script}`);
    const done = await fixture.collect().catch(error => error);
    if (outcome === 'collected') {
      expect(done).toMatchObject({ note: null });
      expect(fixture.subjects()).toContain('One');
    } else expect(done.message ?? done.note).toMatch(outcome);
    if (done instanceof Error) {
      expect(done).toMatchObject({ code: 'GIT_FAILED' });
      expect(await fixture.worktrees.remove(worktree, { dropEmptyBranch: true })).toMatchObject({
        outcome: 'kept',
      });
      expect(existsSync(agentGit('objects'))).toBe(true);
    }
    expect(fixture.tip('main')).toBe(main);
    expect(existsSync(join(worktree.path, 'ran'))).toBe(false);
    expect(fixture.outside('ls-files')).not.toContain('..');
    repo.git('fsck', '--strict', '--connectivity-only');
  },
);

test('objects of other repositories cannot be brought in', async () => {
  await confined();
  const other = join(fixture.repo.folder, 'other');
  mkdirSync(other);
  fixture.repo.git('-C', other, 'init', '-q');
  writeFileSync(join(other, 'secret'), 'secret');
  fixture.repo.git('-C', other, 'add', '-A');
  fixture.repo.git('-C', other, 'commit', '-qm', 'Secret');
  const secret = fixture.repo.git('-C', other, 'rev-parse', 'HEAD').trim();
  // More than an agent can do: it does not see that path.
  const objects = join(other, '.git/objects');
  rmSync(agentGit('objects'), { recursive: true });
  symlinkSync(objects, agentGit('objects'));
  writeFileSync(agentGit('git/refs/heads', fixture.branch), `${secret}\n`);
  await expect(fixture.collect()).rejects.toThrow('is not complete');
  expect(() => fixture.repo.git('cat-file', '-e', secret)).toThrow();
  expect(existsSync(join(objects, 'info/alternates'))).toBe(false);
});
