import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openGit } from '../workspace/git/git.ts';
import { Repository } from '../workspace/testing/repository.ts';
import { findRepository } from './find-repository.ts';

let local: Repository;
beforeEach(() => {
  local = new Repository();
});
afterEach(() => local.remove());

const find = (apiUrl: string | null = null) =>
  findRepository(openGit, local.root, {
    token: 'ghp_token',
    apiUrl,
    env: local.env as Record<string, string>,
  });
const add = (name: string, url: string) => local.git('remote', 'add', name, url);

describe('the repository on its host', () => {
  test('is where origin says', async () => {
    add('other', 'https://github.com/other/other.git');
    add('origin', 'git@github.com:octo/demo.git');
    expect(await find()).toEqual({
      owner: 'octo',
      name: 'demo',
      url: 'git@github.com:octo/demo.git',
      remote: 'origin',
      apiUrl: 'https://api.github.com',
    });
  });

  test('is the only one there is', async () => {
    add('upstream', 'https://github.com/octo/demo');
    expect(await find()).toMatchObject({ owner: 'octo', remote: 'upstream' });
  });

  test('is what the checked-out branch follows', async () => {
    add('one', 'https://github.com/one/demo');
    add('two', 'https://github.com/two/demo');
    local.git('config', 'branch.main.remote', 'two');
    expect(await find()).toMatchObject({ owner: 'two', remote: 'two' });
  });

  test('is where pushes go, if that is another address', async () => {
    add('origin', 'https://mirror.example/octo/demo');
    local.git('config', 'remote.origin.pushurl', 'https://github.com/octo/demo');
    expect(await find()).toMatchObject({ url: 'https://github.com/octo/demo' });
  });

  test.each([
    ['there is no remote', () => {}, 'has no remote'],
    [
      'there are two and none is meant',
      () => [add('a', 'https://github.com/a/x'), add('b', 'https://github.com/b/x')],
      'a, b',
    ],
    [
      'its address is no repository',
      () => add('origin', 'https://me:secret@github.com/'),
      'https://github.com/',
    ],
  ])('is missing when %s', async (_, arrange, words) => {
    arrange();
    const refused = await find().catch(error => error);
    expect(refused).toMatchObject({ code: 'REMOTE_MISSING', message: expect.stringContaining(words) });
    expect(refused.suggestions).toHaveLength(1);
    expect(refused.message).not.toContain('secret');
  });

  test('in a folder without one is reported', async () => {
    await expect(
      findRepository(openGit, local.env.HOME, {
        token: 't',
        apiUrl: null,
        env: local.env as Record<string, string>,
      }),
    ).rejects.toMatchObject({ code: 'GIT_FAILED' });
  });
});

describe('the API', () => {
  test.each([
    'https://www.github.com/octo/demo',
    'ssh://git@ssh.github.com:443/octo/demo.git',
    'git@GitHub.com:octo/demo.git',
  ])("is GitHub's own for %s", async url => {
    add('origin', url);
    expect(await find()).toMatchObject({ apiUrl: 'https://api.github.com' });
  });

  test.each([
    'https://git.example/octo/demo',
    'git@work:octo/demo',
    '/srv/octo/demo',
    'https://github.com.evil.example/octo/demo',
  ])('is not guessed from the address %s, which an agent may have written', async url => {
    add('origin', url);
    await expect(find()).rejects.toMatchObject({
      code: 'REMOTE_MISSING',
      suggestions: [expect.stringContaining('GITHUB_API_URL')],
    });
  });

  test.each([
    ['https://git.example/api/v3', 'https://git.example/api/v3'],
    ['https://git.example/api/v3/', 'https://git.example/api/v3'],
    ['https://git.example:8443/api/v3', 'https://git.example:8443/api/v3'],
  ])('is what the user says: %s', { tags: ['D4'] }, async (asked, used) => {
    add('origin', 'https://git.example/octo/demo');
    expect(await find(asked)).toMatchObject({ apiUrl: used });
  });

  test.each([
    ['https://git.example/api/v3', 'git@git.example:octo/demo'],
    ['https://git.example/api/v3', 'ssh://git@Git.Example:2222/octo/demo'],
    ['https://git.example/api/v3', '/srv/octo/demo'],
    ['https://api.our.ghe.com', 'https://our.ghe.com/octo/demo'],
    ['https://api.github.com', 'git@work:octo/demo'],
    ['https://api.github.com', 'https://github.com/octo/demo'],
    ['http://127.0.0.1:1234/api/v3', 'http://127.0.0.1:99/octo/demo'],
  ])('%s is for the remote %s', async (asked, url) => {
    add('origin', url);
    expect(await find(asked)).toMatchObject({ apiUrl: asked });
  });

  test.each([
    ['https://git.example/api/v3', 'https://elsewhere.example/octo/demo'],
    ['https://git.example/api/v3', 'git@elsewhere.example:octo/demo'],
    ['https://git.example/api/v3', 'git@github.com:octo/demo'],
    ['https://git.example/api/v3', 'https://git.example.elsewhere/octo/demo'],
    ['https://git.example/api/v3', 'ssh://git@2130706433/octo/demo'],
    ['https://git.example/api/v3', 'ssh://git@[::1]/octo/demo'],
    ['https://git.example/api/v3', 'http://gitHost/octo/demo'],
    ['https://api.github.com', 'https://git.example/octo/demo'],
    ['https://api.our.ghe.com', 'https://other.ghe.com/octo/demo'],
  ])('%s is not for the remote %s: code goes to no other host', async (asked, url) => {
    add('origin', url);
    await expect(find(asked)).rejects.toMatchObject({
      code: 'REMOTE_MISSING',
      message: expect.stringContaining(`GITHUB_API_URL is for ${new URL(asked).host}`),
    });
  });

  test('is not asked for with a password in the question', async () => {
    add('origin', 'secret@git.example/octo/demo');
    const refused = await find().catch(error => error);
    expect(refused).toMatchObject({ code: 'REMOTE_MISSING' });
    expect(refused.message).not.toContain('secret');
  });

  test.each(['git.example', 'http://git.example/api/v3', 'https://me:secret@git.example/api', 'file:///x'])(
    'is not %s',
    async asked => {
      add('origin', 'https://git.example/octo/demo');
      const refused = await find(asked).catch(error => error);
      expect(refused).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(refused.message).not.toContain('secret');
    },
  );
});
