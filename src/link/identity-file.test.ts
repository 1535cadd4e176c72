import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readIdentity } from './identity-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-identity-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

test('the file names the token and the home', () => {
  const path = file('good', JSON.stringify({ token: 't', home: '/home' }));
  expect(readIdentity(path)).toEqual({ token: 't', home: '/home' });
});

test('a file that is missing, not regular, not private or not an identity is refused by a message without its content', () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const wrong: [string, RegExp][] = [
    [join(folder, 'missing'), /cannot be read: ENOENT/],
    [folder, /is not a file/],
    [join(folder, 'pipe'), /is not a file/],
    [file('shared', JSON.stringify({ token: 'SECRET', home: '/' }), 0o640), /can be read by others/],
    [file('half', '{"token":"SECRET"'), /holds no identity/],
    [file('other', '{"token":7,"home":"SECRET"}'), /holds no identity/],
    [file('null', 'null'), /holds no identity/],
  ];
  for (const [path, words] of wrong) {
    expect(() => readIdentity(path)).toThrow(words);
    expect(() => readIdentity(path)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(() => readIdentity(path)).not.toThrow(/SECRET/);
  }
});
