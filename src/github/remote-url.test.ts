import { describe, expect, test } from 'vitest';
import { parseRemoteUrl, shownAddress } from './remote-url.ts';

const read = (text: string) => parseRemoteUrl(text, '/home/user/project');

describe('an address of a remote', () => {
  test.each([
    ['https://github.com/octo/demo.git', 'https', 'github.com', 'https://github.com/octo/demo.git'],
    ['https://github.com/octo/demo', 'https', 'github.com', 'https://github.com/octo/demo'],
    ['https://github.com/octo/demo.git/', 'https', 'github.com', 'https://github.com/octo/demo.git/'],
    ['https://me@github.com/octo/demo', 'https', 'github.com', 'https://github.com/octo/demo'],
    ['https://me:ghp_secret@github.com/octo/demo', 'https', 'github.com', 'https://github.com/octo/demo'],
    ['https://github.com/octo/demo?token=secret#x', 'https', 'github.com', 'https://github.com/octo/demo'],
    [
      'http://git.example:8080/octo/demo.git',
      'http',
      'git.example:8080',
      'http://git.example:8080/octo/demo.git',
    ],
    [
      'https://git.example/group/sub/octo/demo',
      'https',
      'git.example',
      'https://git.example/group/sub/octo/demo',
    ],
    ['git@github.com:octo/demo.git', 'ssh', 'github.com', 'git@github.com:octo/demo.git'],
    ['github.com:octo/demo', 'ssh', 'github.com', 'github.com:octo/demo'],
    ['git@host:/srv/octo/demo.git', 'ssh', 'host', 'git@host:/srv/octo/demo.git'],
    ['ssh://git@github.com/octo/demo.git', 'ssh', 'github.com', 'ssh://git@github.com/octo/demo.git'],
    [
      'ssh://git:secret@ssh.github.com:443/octo/demo',
      'ssh',
      'ssh.github.com',
      'ssh://git@ssh.github.com:443/octo/demo',
    ],
    ['file:///srv/octo/demo.git', 'file', null, '/srv/octo/demo.git'],
    ['/srv/octo/demo.git', 'file', null, '/srv/octo/demo.git'],
    ['../octo/demo', 'file', null, '/home/user/octo/demo'],
    ['  https://github.com/octo/demo\n', 'https', 'github.com', 'https://github.com/octo/demo'],
  ])('%s', (text, protocol, host, url) => {
    expect(read(text)).toEqual({ protocol, host, url, owner: 'octo', name: 'demo' });
  });

  test.each([
    '',
    'ext::sh -c "touch /tmp/x"',
    'fd::17',
    'git://github.com/octo/demo.git',
    'ftp://example.com/octo/demo',
    'https://github.com/demo',
    'https://github.com/',
    'https://github.com/octo/..',
    'https://github.com/octo/de%20mo',
    'https://',
    '-oProxyCommand=x:octo/demo',
    'ssh://-oProxyCommand=x/octo/demo',
    'file://server/octo/demo',
  ])('%s is none', text => {
    expect(read(text)).toBeNull();
  });
});

test.each([
  ['git://me:secret@host/x', 'git://host/x'],
  ['https://host/x?access_token=secret', 'https://host/x'],
  ['https://host/x#secret', 'https://host/x'],
  ['me:secret@host/one', 'host/one'],
  ['https://me:se@cret@host/one', 'https://host/one'],
  ['https://me:sec/ret@host/one', 'https://host/one'],
  ['https://me:sec?ret@host/one', 'https://host/one'],
  ['https://me:sec#ret@host/one?secret', 'https://host/one'],
  ['secret@host/octo/demo', 'host/octo/demo'],
  ['ext::fetch --password secret %S', 'ext::…'],
  ['https://github.com/', 'https://github.com/'],
  ['/srv/demo', '/srv/demo'],
])('%s is shown without a password', (text, shown) => {
  expect(shownAddress(text)).toBe(shown);
});
