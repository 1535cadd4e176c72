import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RESET } from '../../test/servers/github/faults.ts';
import type { HostedRepository } from '../core/ports/git-host.ts';
import { GitHostFixture } from './testing/git-host-fixture.ts';

let fixture: GitHostFixture;
let repository: HostedRepository;
beforeEach(async () => {
  fixture = await GitHostFixture.start();
  repository = await fixture.gitHost().repository(fixture.local.root, fixture.access());
  await fixture.gitHost().push(fixture.worktree, fixture.work('a.txt'), repository, fixture.access());
});
afterEach(() => fixture[Symbol.asyncDispose]());

const open = (change: object = {}, access = fixture.access(), limits = {}) =>
  fixture
    .gitHost(limits)
    .openPullRequest(
      repository,
      { head: fixture.worktree.branch, base: 'main', title: 'Add a', body: 'What and why', ...change },
      access,
    );
const issue = { title: 'First', body: 'Text', labels: ['bug'] };

describe('a pull request', () => {
  test('is opened for the base that is asked for', async () => {
    fixture.host.git('branch', 'next', 'main');
    const pull = await open({ base: 'next' });
    expect(pull).toEqual({ number: 1, url: `${fixture.github.origin}/octo/demo/pull/1`, existed: false });
    expect(fixture.github.pulls).toEqual([
      {
        number: 1,
        title: 'Add a',
        body: 'What and why',
        head: fixture.worktree.branch,
        base: 'next',
        state: 'open',
      },
    ]);
  });

  test('is for the default branch when no base is named', async () => {
    await open({ base: null });
    expect(fixture.github.pulls[0]?.base).toBe('main');
  });

  test('is found when it is open already', async () => {
    await open();
    expect(await open({ title: 'Again' })).toMatchObject({ number: 1, existed: true });
    expect(fixture.github.pulls).toHaveLength(1);
    expect(await fixture.gitHost().findPullRequest(repository, 'other', fixture.access())).toBeNull();
  });

  test('is found when somebody opens it in the same moment', async () => {
    const pull = { number: 1, title: 'Theirs', body: '', head: fixture.worktree.branch, base: 'main' };
    fixture.github.faults.push({
      on: /POST .*\/pulls/,
      does: { first: () => void fixture.github.pulls.push({ ...pull, state: 'open' }) },
    });
    expect(await open()).toMatchObject({ number: 1, existed: true });
  });

  test('of nothing is refused', async () => {
    fixture.host.git('branch', '-f', 'main', fixture.worktree.branch);
    await expect(open()).rejects.toMatchObject({ code: 'NOTHING_TO_PROPOSE' });
  });

  test("for a base that is not there is refused in GitHub's words", async () => {
    await expect(open({ base: 'nowhere' })).rejects.toMatchObject({
      code: 'GITHUB_REFUSED',
      message: expect.stringMatching(/Validation Failed; PullRequest base invalid \(422\)/),
    });
  });
});

describe('an issue', () => {
  test('is created with its labels', async () => {
    const made = await fixture.gitHost().createIssue(repository, issue, fixture.access());
    expect(made).toEqual({ number: 1, url: `${fixture.github.origin}/octo/demo/issues/1` });
    expect(fixture.github.issues).toEqual([{ number: 1, ...issue }]);
  });
});

describe('a refusal of GitHub is passed on', () => {
  test('a token that is not valid', async () => {
    await expect(open({}, fixture.access({ token: 'ghp_bad_token_here' }))).rejects.toMatchObject({
      code: 'GITHUB_REFUSED',
      message: expect.stringContaining('Bad credentials (401)'),
      suggestions: [expect.stringContaining('invalid or has expired')],
    });
  });

  test('a token without the scope: which it has, and which it needs', { tags: ['D4'] }, async () => {
    fixture.github.scopes = ['read:user'];
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_REFUSED',
      message: expect.stringContaining('Not Found (404)'),
      suggestions: [expect.stringMatching(/needs scope `repo`.*has the scopes `read:user`/)],
    });
  });

  test('a fine-grained token without the permission', async () => {
    fixture.github.scopes = null;
    fixture.github.faults.push({ on: /POST .*issues/, does: 'forbid' });
    await expect(fixture.gitHost().createIssue(repository, issue, fixture.access())).rejects.toMatchObject({
      code: 'GITHUB_REFUSED',
      message: expect.stringContaining('Resource not accessible'),
      suggestions: [expect.stringContaining('"Issues: read and write"')],
    });
  });

  test('a repository that has moved is not followed', { tags: ['S7'] }, async () => {
    fixture.github.faults.push({ on: /pulls/, does: 'redirect' });
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_REFUSED',
      suggestions: [expect.stringContaining('has moved')],
    });
  });

  test('too many requests, and until when', async () => {
    fixture.github.faults.push({ on: /pulls/, does: 'rate limit' });
    const until = new Date(RESET * 1000).toISOString().replace('.000Z', 'Z');
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_RATE_LIMITED',
      message: expect.stringContaining(until),
      details: { reset_at: until },
    });
  });

  test('too many requests in a short time', async () => {
    fixture.github.faults.push({ on: /pulls/, does: 'secondary rate limit' });
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_RATE_LIMITED',
      details: { reset_at: expect.stringMatching(/Z$/) },
    });
  });

  test('a failing host is not asked twice', async () => {
    fixture.github.faults.push({ on: /POST .*pulls/, does: 'break' });
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      message: expect.stringContaining('Server Error (500)'),
    });
    expect(fixture.github.seen.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('a host that does not answer is given up', async () => {
    fixture.github.faults.push({ on: /pulls/, does: 'hang' });
    await expect(open({}, fixture.access(), { requestTimeoutMs: 200 })).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      message: expect.stringContaining('timeout'),
    });
  });

  test.each(['cut', 'cut body', 'web page'] as const)('no answer that can be read: %s', async does => {
    fixture.github.faults.push({ on: /POST .*pulls/, does });
    await expect(open()).rejects.toMatchObject({ code: 'GITHUB_UNREACHABLE' });
  });

  test('unknown repository', async () => {
    repository = { ...repository, apiUrl: 'http://127.0.0.1:1/api/v3' };
    await expect(open()).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      message: expect.stringContaining('could not be reached'),
    });
  });

  test('without the token, if it is repeated', async () => {
    fixture.github.faults.push({ on: /POST .*pulls/, does: 'repeat token' });
    const refused = await open().catch(error => error);
    expect(refused.code).toBe('GITHUB_REFUSED');
    expect(JSON.stringify(refused.toShape())).not.toContain(fixture.github.token);
  });
});

describe('whether there is anything to propose', () => {
  const changesAnything = (commit: string, base: string | null = 'main') =>
    fixture
      .gitHost()
      .changesAnything(fixture.worktree, commit, base === null ? null : { branch: base, repository });
  const tip = () => fixture.local.git('rev-parse', fixture.worktree.branch).trim();

  test('there is after work', async () => {
    expect(await changesAnything(tip())).toBe(true);
    expect(await changesAnything(tip(), null)).toBe(true);
    expect(await changesAnything(tip(), 'a-branch-only-the-host-has')).toBe(true);
  });

  test('there is not at the beginning, nor after work was taken back', async () => {
    expect(await changesAnything(fixture.worktree.base)).toBe(false);
    fixture.local.git('-C', fixture.worktree.path, 'revert', '--no-edit', 'HEAD');
    expect(await changesAnything(tip())).toBe(false);
  });

  test('there is not when the base has it all', async () => {
    fixture.local.git('merge', '-q', '--ff-only', fixture.worktree.branch);
    expect(await changesAnything(tip())).toBe(false);
  });
});
