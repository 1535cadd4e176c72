import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BareRepository } from '../../test/servers/github/bare-repository.ts';
import { GitHostFixture } from './testing/git-host-fixture.ts';

let fixture: GitHostFixture;
beforeEach(async () => {
  fixture = await GitHostFixture.start();
});
afterEach(() => fixture[Symbol.asyncDispose]());

/** The last of the branch, while there is one. */
const commit = () =>
  fixture.local
    .git('for-each-ref', '--format=%(objectname)', `refs/heads/${fixture.worktree.branch}`)
    .trim() || fixture.worktree.base;

async function push(access = fixture.access(), limits = {}): Promise<void> {
  const gitHost = fixture.gitHost(limits);
  const repository = await gitHost.repository(fixture.local.root, access);
  await gitHost.push(fixture.worktree, commit(), repository, access);
}

describe('a push over http', () => {
  test('brings the branch under its own name and shows the token to the host', { tags: ['D4'] }, async () => {
    const tip = fixture.work('a.txt');
    await push();
    expect(fixture.host.tip(fixture.worktree.branch)).toBe(tip);
    const basic = `Basic ${Buffer.from(`x-access-token:${fixture.github.token}`).toString('base64')}`;
    expect(new Set(fixture.github.seenByGit.map(({ authorization }) => authorization))).toEqual(
      new Set([basic]),
    );
  });

  test('leaves the token nowhere', { tags: ['S7'] }, async () => {
    fixture.work('a.txt');
    await push();
    const kept = [
      fixture.github.token,
      Buffer.from(`x-access-token:${fixture.github.token}`).toString('base64'),
    ];
    for (const secret of kept)
      for (const folder of [fixture.local.folder, fixture.github.folder])
        expect(() => execFileSync('grep', ['-rF', '--', secret, folder], { stdio: 'pipe' })).toThrow();
  });

  test('does not put the token among the arguments of git', { tags: ['S7'] }, async () => {
    const log = join(fixture.local.folder, 'git.log');
    const folder = join(fixture.local.folder, 'bin');
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    mkdirSync(folder);
    writeFileSync(join(folder, 'git'), `#!/bin/sh\necho "$*" >> ${log}\nexec ${real} "$@"\n`, {
      mode: 0o755,
    });
    fixture.work('a.txt');
    await push(fixture.access({ env: { ...fixture.env, PATH: `${folder}:${fixture.env.PATH}` } }));
    const said = readFileSync(log, 'utf8');
    expect(said).toContain(`-- ${fixture.host.httpUrl} `);
    expect(said).not.toContain(fixture.github.token);
    expect(said).not.toMatch(/extraHeader|Basic/);
  });

  test('done twice does nothing the second time', async () => {
    fixture.work('a.txt');
    await push();
    await push();
    expect(fixture.host.files(fixture.worktree.branch)).toEqual(['README.md', 'a.txt']);
  });

  test.each([
    ['another address for it', (url: string) => [['url.http://127.0.0.1:1/x/.insteadOf', url.slice(0, 12)]]],
    [
      'another address for pushes',
      (url: string) => [['url.http://127.0.0.1:1/x/.pushInsteadOf', url.slice(0, 12)]],
    ],
    [
      'a remote by the name of the address',
      (url: string) => [[`remote.${url}.url`, 'http://127.0.0.1:1/x/y']],
    ],
    ['a proxy', () => [['http.proxy', 'http://127.0.0.1:1']]],
  ])('is not led elsewhere by what the repository says: %s', { tags: ['D4'] }, async (_, settings) => {
    for (const [key, value] of settings(fixture.host.httpUrl)) fixture.local.git('config', key!, value!);
    const tip = fixture.work('a.txt');
    await push();
    expect(fixture.host.tip(fixture.worktree.branch)).toBe(tip);
  });

  test('runs nothing the repository names', async () => {
    const mark = join(fixture.local.folder, 'ran');
    fixture.local.git('config', 'credential.helper', `!touch ${mark}`);
    fixture.local.git('config', 'core.askPass', `touch ${mark};`);
    const hooks = join(fixture.local.root, '.git', 'hooks');
    mkdirSync(hooks, { recursive: true });
    writeFileSync(join(hooks, 'pre-push'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    fixture.work('a.txt');
    await expect(push(fixture.access({ token: 'wrong-token' }))).rejects.toThrow();
    await push();
    expect(existsSync(mark)).toBe(false);
  });

  test('shows the token to no host but that of the API', { tags: ['S7'] }, async () => {
    fixture.work('a.txt');
    const other = await GitHostFixture.start();
    await using _ = other;
    fixture.remote(other.host.httpUrl);
    await expect(push()).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      message: expect.stringContaining('requires a token, and none was sent'),
      suggestions: [expect.stringContaining(`only to the host of ${fixture.github.apiUrl}`)],
    });
    expect(other.github.seenByGit.map(({ authorization }) => authorization)).toEqual([null]);
  });

  test('does not follow the host to another place', { tags: ['S7'] }, async () => {
    fixture.work('a.txt');
    fixture.github.faults.push({ on: /info\/refs/, does: 'redirect' });
    await expect(push()).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      suggestions: [expect.stringContaining('has moved')],
    });
  });

  test('with a bad token says so and does not repeat the token', async () => {
    fixture.work('a.txt');
    const refused = await push(fixture.access({ token: 'ghp_not_the_right_one' })).catch(error => error);
    expect(refused).toMatchObject({
      code: 'PUSH_REJECTED',
      message: expect.stringMatching(/failed: the host did not accept the token$/),
      suggestions: [expect.stringMatching(/GITHUB_TOKEN is invalid.*scope `repo`/)],
    });
    expect(JSON.stringify(refused.toShape())).not.toContain('ghp_not_the_right_one');
  });

  test('a host that does not answer is given up', async () => {
    fixture.work('a.txt');
    fixture.github.faults.push({ on: /info\/refs/, does: 'hang' });
    await expect(push(fixture.access(), { pushTimeoutMs: 300 })).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      message: expect.stringContaining('unknown whether the branch was pushed'),
    });
  });

  test('a connection that breaks leaves it open whether the branch arrived', async () => {
    fixture.work('a.txt');
    // Once would be tried again by the library below git.
    const cut = { on: /POST .*git-receive-pack/, does: 'cut' } as const;
    fixture.github.faults.push(cut, cut, cut);
    await expect(push()).rejects.toMatchObject({ code: 'GITHUB_UNREACHABLE' });
  });
});

describe('a push that is refused', () => {
  test('because the branch went on there', async () => {
    fixture.work('a.txt');
    await push();
    fixture.local.git('-C', fixture.worktree.path, 'reset', '-q', '--hard', fixture.worktree.base);
    fixture.work('b.txt');
    const before = fixture.host.tip(fixture.worktree.branch);
    await expect(push()).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      suggestions: [expect.stringContaining('never forces')],
    });
    expect(fixture.host.tip(fixture.worktree.branch)).toBe(before);
  });

  test('by the rules of the host, in its words', async () => {
    fixture.host.protect();
    fixture.work('a.txt');
    await expect(push()).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      message: expect.stringContaining(BareRepository.REFUSAL),
    });
  });

  test('because there is no such repository', async () => {
    fixture.work('a.txt');
    fixture.remote(`${fixture.github.origin}/octo/nothing.git`);
    await expect(push()).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      suggestions: [expect.stringContaining('git remote get-url origin')],
    });
  });

  test('because nobody is there', async () => {
    fixture.work('a.txt');
    fixture.remote('http://127.0.0.1:1/octo/demo.git');
    await expect(push(fixture.access({ apiUrl: 'http://127.0.0.1:1/api/v3' }))).rejects.toMatchObject({
      code: 'PUSH_REJECTED',
      suggestions: [expect.stringContaining('cannot be reached')],
    });
  });

  test('because somebody removed the branch', async () => {
    fixture.local.git('worktree', 'remove', fixture.worktree.path);
    fixture.local.git('branch', '-D', fixture.worktree.branch);
    await expect(push()).rejects.toMatchObject({ code: 'GIT_FAILED' });
  });
});

describe('a push to a folder', () => {
  test.each(['fileUrl', 'folder'] as const)('brings the branch (%s)', async form => {
    fixture.remote(fixture.host[form]);
    const tip = fixture.work('a.txt');
    await push();
    expect(fixture.host.tip(fixture.worktree.branch)).toBe(tip);
  });

  test('runs no hook there', async () => {
    const mark = join(fixture.local.folder, 'ran');
    for (const name of ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction'])
      fixture.host.hook(name, `touch ${mark}`);
    fixture.remote(fixture.host.fileUrl);
    fixture.work('a.txt');
    await push();
    expect(existsSync(mark)).toBe(false);
  });
});

describe('a push over ssh', () => {
  test("takes the user's ssh, and lets it ask nobody", async () => {
    const log = join(fixture.local.folder, 'ssh.log');
    const ssh = join(fixture.local.folder, 'ssh');
    writeFileSync(
      ssh,
      `#!/bin/sh\necho "$SSH_AUTH_SOCK|$*" >> ${log}\nfor last; do :; done\nexec sh -c "$last"\n`,
      {
        mode: 0o755,
      },
    );
    fixture.remote(`git@127.0.0.1:${fixture.host.folder}`);
    const tip = fixture.work('a.txt');
    await push(
      fixture.access({ env: { ...fixture.env, GIT_SSH_COMMAND: ssh, SSH_AUTH_SOCK: '/run/agent' } }),
    );
    expect(fixture.host.tip(fixture.worktree.branch)).toBe(tip);
    const said = readFileSync(log, 'utf8');
    expect(said).toMatch(/^\/run\/agent\|.*-o BatchMode=yes.* git@127\.0\.0\.1 git-receive-pack/);
    expect(said).not.toContain(fixture.github.token);
  });

  test("does not run an ssh of the repository's", { tags: ['S7'] }, async () => {
    const mark = join(fixture.local.folder, 'ran');
    fixture.local.git('config', 'core.sshCommand', `touch ${mark};`);
    fixture.remote('git@127.0.0.1:octo/demo.git');
    fixture.work('a.txt');
    const env = { ...fixture.env, GIT_SSH_COMMAND: 'false' };
    await expect(push(fixture.access({ env }))).rejects.toMatchObject({ code: 'PUSH_REJECTED' });
    expect(existsSync(mark)).toBe(false);
  });
});

test('a shallow clone can be pushed from', async () => {
  fixture.work('a.txt');
  await push();
  const clone = join(fixture.local.folder, 'shallow');
  fixture.local.git(
    'clone',
    '-q',
    '--depth',
    '1',
    '-b',
    fixture.worktree.branch,
    fixture.host.fileUrl,
    clone,
  );
  fixture.local.git('-C', clone, 'commit', '-q', '--allow-empty', '-m', 'More');
  const gitHost = fixture.gitHost();
  const access = fixture.access();
  const tree = { ...fixture.worktree, path: clone, repository: clone };
  const tip = fixture.local.git('-C', clone, 'rev-parse', 'HEAD').trim();
  await gitHost.push(tree, tip, await gitHost.repository(clone, access), access);
  expect(fixture.host.ahead(fixture.worktree.branch, 'main')).toBe(2);
});

test('the host reports the commit of a branch', async () => {
  const gitHost = fixture.gitHost();
  const access = fixture.access();
  const repository = await gitHost.repository(fixture.local.root, access);
  const tip = fixture.work('a.txt');
  expect(await gitHost.remoteTip(fixture.worktree, repository, access)).toBeNull();
  await gitHost.push(fixture.worktree, tip, repository, access);
  expect(await gitHost.remoteTip(fixture.worktree, repository, access)).toBe(tip);
});
